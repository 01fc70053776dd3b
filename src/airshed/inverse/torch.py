"""A run of a case as a differentiable function of PyTorch tensors.

    run = airshed.inverse.torch.differentiable(
        "cases/west-europe", outputs={"O3": "12 h"}, inputs={"factors": {"road": {"species": ["NO", "NO2"]}}}
    )
    factor = torch.ones((), requires_grad=True)
    run(factors={"road": factor})["O3"][-1, 0].mean().backward()

PyTorch 1.13 or later is supported. Arrays are exchanged by DLPack, since a PyTorch that was built for another NumPy
does not accept its arrays.
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
    import torch
except ImportError as error:
    raise CaseError('airshed.inverse.torch needs PyTorch: pip install "airshed[torch]"') from error


def differentiable(
    case: Case | str | Path, outputs: Mapping[str, Any], inputs: Mapping[str, Any], **given: Any
) -> "TorchRun":
    """Return a run of a case as a function of tensors.

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
    TorchRun
        A function of tensors, to be called with tables of inputs.

    Raises
    ------
    AirshedError
        If the case, the outputs or the inputs are invalid.

    Notes
    -----
    Fields are float64 on the CPU. A gradient has the type and the device of its input. A call is a forward run;
    `backward` is one backward pass for all inputs together, which takes about four times as long. Only the last run
    is stored: a second `backward` of it, or one of an earlier run, repeats the forward run. Second derivatives are not
    available.
    """
    return TorchRun(RunFunction(case, outputs, inputs, **given))


class TorchRun(Adapter):
    """Run of a case as a function of tensors, see :func:`differentiable`."""

    def _run(self, given: Mapping[Key, Any]) -> dict[str, Any]:
        tensors = [_tensor(value) for value in given.values()]
        return dict(zip(self._function.shapes, _Run.apply(self._function, list(given), *tensors), strict=True))


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: RunFunction, keys: list[Key], *tensors: Any) -> tuple[Any, ...]:
        ctx.function, ctx.keys = function, keys
        ctx.save_for_backward(*tensors)
        fields = function({key: _array(each) for key, each in zip(keys, tensors, strict=True)})
        return tuple(map(_tensor, fields.values()))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        tensors = ctx.saved_tensors
        values = {key: _array(each) for key, each in zip(ctx.keys, tensors, strict=True)}
        given = {name: _array(each) for name, each in zip(ctx.function.shapes, cotangents, strict=True)}
        found = ctx.function.vjp(values, given)
        adjoints = zip((_tensor(found[key]) for key in ctx.keys), tensors, strict=True)
        return None, None, *(adjoint.to(tensor.device, tensor.dtype) for adjoint, tensor in adjoints)


def _tensor(value: Any) -> Any:
    return value if isinstance(value, torch.Tensor) else torch.from_dlpack(np.array(value, dtype=np.float64))


def _array(tensor: Any) -> Array:
    """Return a tensor as an array in double precision; a view if it already has this type."""
    return np.asarray(np.from_dlpack(tensor.detach().to("cpu", torch.float64).contiguous()), dtype=np.float64)
