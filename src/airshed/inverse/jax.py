"""A run of a case as a function of JAX arrays, for its automatic differentiation, inside and outside of `jax.jit`.

    run = airshed.inverse.jax.differentiable(
        "cases/west-europe", outputs={"O3": "12 h"}, inputs={"factors": {"road": {"species": ["NO", "NO2"]}}}
    )
    jax.grad(lambda factor: run(factors={"road": factor})["O3"][-1, 0].mean())(1.0)

The run is made on the host: JAX calls back to it.
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

    outputs, inputs  see :mod:`airshed.inverse.function.run_function`
    given            further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code

    Fields and gradients are float64 with `jax.config.update("jax_enable_x64", True)`, else float32, which the run
    itself is not. A call is a run forward on the host; a gradient is its backward pass, about four times its
    cost for all inputs together, and runs forward before where another run came in between. Under `jax.vmap` runs are
    made one after the other. There are reverse derivatives alone, and no second ones.
    Raises AirshedError for what is wrong with the case, the outputs or the inputs; under `jax.jit` what shows while
    the run is made, such as a value out of range, is in the message of an error of JAX.
    """
    return JaxRun(RunFunction(case, outputs, inputs, **given))


class JaxRun(Adapter):
    """A run as a function of JAX arrays, see :func:`differentiable`."""

    def __init__(self, function: RunFunction) -> None:
        super().__init__(function)
        self._apply: Any = jax.custom_vjp(self._forward)
        self._apply.defvjp(lambda given: (self._forward(given), given), self._backward)

    def _run(self, given: Mapping[Key, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = self._apply({key: jnp.asarray(value, dtype=float) for key, value in given.items()})
        return fields

    def _forward(self, given: Given) -> dict[str, Any]:
        real = jnp.zeros(()).dtype  # that JAX is set to
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
    """Call a function of arrays: at once where they are known, so that its errors are its own, else when they are."""

    def called(*values: Any) -> Any:
        return jax.tree.map(lambda found, shape: np.asarray(found, shape.dtype), function(*values), shapes)

    if any(isinstance(each, jax.core.Tracer) for each in jax.tree.leaves(arguments)):
        return jax.pure_callback(called, shapes, *arguments, vmap_method="sequential")
    return jax.tree.map(jnp.asarray, called(*arguments))


def _arrays(values: Mapping[Any, Any]) -> dict[Any, Array]:
    return {key: np.asarray(value, dtype=np.float64) for key, value in values.items()}
