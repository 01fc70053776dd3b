"""A run of a case as a differentiable function of JAX arrays, inside and outside of `jax.jit`.

    run = airshed.inverse.jax.differentiable(
        "cases/west-europe", outputs={"O3": "12 h"}, inputs={"factors": {"road": {"species": ["NO", "NO2"]}}}
    )
    jax.grad(lambda factor: run(factors={"road": factor})["O3"][-1, 0].mean())(1.0)

The model runs on the host, through a callback of JAX.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.inverse.function.run_function import Adapter, Key, RunFunction
from airshed.models.air.case import Case

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise CaseError('airshed.inverse.jax needs JAX: pip install "airshed[jax]"') from error

Given = dict[Key, Any]


def differentiable(
    case: Case | str | Path, outputs: Mapping[str, Any], inputs: Mapping[str, Any], **given: Any
) -> "JaxRun":
    """Return a run of a case as a function of JAX arrays.

    Parameters
    ----------
    case : Case, str or Path
        Case, or its folder.
    outputs, inputs : mapping
        See :mod:`airshed.inverse.function.run_function`.
    **given
        Further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code.

    Returns
    -------
    JaxRun
        A function of arrays, to be called with tables of inputs.

    Raises
    ------
    AirshedError
        If the case, the outputs or the inputs are invalid. Under `jax.jit` an error of the run itself, such as a value
        out of range, is in the message of an error of JAX.

    Notes
    -----
    Fields and gradients are float64 with `jax.config.update("jax_enable_x64", True)`, otherwise float32; the model is
    not converted. A call is a forward run on the host. Its gradient is one backward pass for all inputs together,
    which takes about four times as long. It repeats the forward run if another run was made in between. Under
    `jax.vmap` the runs are sequential. Only reverse mode and first derivatives are available.
    """
    return JaxRun(RunFunction(case, outputs, inputs, **given))


class JaxRun(Adapter):
    """Run of a case as a function of JAX arrays, see :func:`differentiable`."""

    def __init__(self, function: RunFunction) -> None:
        super().__init__(function)
        self._apply: Any = jax.custom_vjp(self._forward)
        self._apply.defvjp(lambda given: (self._forward(given), given), self._backward)

    def _run(self, given: Mapping[Key, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = self._apply({key: jnp.asarray(value, dtype=float) for key, value in given.items()})
        return fields

    def _forward(self, given: Given) -> dict[str, Any]:
        real = jnp.zeros(()).dtype  # the floating-point type of JAX
        shapes = {name: jax.ShapeDtypeStruct(shape, real) for name, shape in self._function.shapes.items()}
        fields: dict[str, Any] = _on_host(lambda values: self._function(_arrays(values)), shapes, given)
        return fields

    def _backward(self, given: Given, cotangents: dict[str, Any]) -> tuple[Given]:
        def back(values: Given, fields: dict[str, Any]) -> Given:
            found = self._function.vjp(_arrays(values), _arrays(fields))
            return {key: found[key] for key in values}

        shapes = {key: jax.ShapeDtypeStruct(value.shape, value.dtype) for key, value in given.items()}
        return (_on_host(back, shapes, given, cotangents),)


def _on_host(function: Any, shapes: Any, *arguments: Any) -> Any:
    """Call a function of arrays: directly if they have values, so that it raises its own errors, else by a callback."""

    def called(*values: Any) -> Any:
        return jax.tree.map(lambda found, shape: np.asarray(found, shape.dtype), function(*values), shapes)

    if any(isinstance(each, jax.core.Tracer) for each in jax.tree.leaves(arguments)):
        return jax.pure_callback(called, shapes, *arguments, vmap_method="sequential")
    return jax.tree.map(jnp.asarray, called(*arguments))


def _arrays(values: Mapping[Any, Any]) -> dict[Any, Array]:
    return {key: np.asarray(value, dtype=np.float64) for key, value in values.items()}
