"""A run of a case as a function of PyTorch tensors, for its automatic differentiation.

    run = airshed.inverse.torch.differentiable(
        "cases/west-europe", outputs={"O3": "12 h"}, inputs={"factors": {"road": {"species": ["NO", "NO2"]}}}
    )
    factor = torch.ones((), requires_grad=True)
    run(factors={"road": factor})["O3"][-1, 0].mean().backward()

PyTorch may be of any version from 1.13. Arrays cross over by DLPack, as a PyTorch made for another NumPy knows none of
this one's.
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

    outputs, inputs  see :mod:`airshed.inverse.function.run_function`
    given            further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code

    Fields come as float64 on the CPU; gradients as the tensor that they are of. A call is a run forward; `backward` is
    its backward pass, about four times its cost for all inputs together. Another `backward` of the same run,
    or of one that is not the last, runs forward before, so that only one run is stored. There is no second derivative.
    Raises AirshedError for what is wrong with the case, the outputs or the inputs.
    """
    return TorchRun(RunFunction(case, outputs, inputs, **given))


class TorchRun(Adapter):
    """A run as a function of tensors, see :func:`differentiable`."""

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
    """Return a tensor as an array in double precision, a view where it is one already."""
    return np.asarray(np.from_dlpack(tensor.detach().to("cpu", torch.float64).contiguous()), dtype=np.float64)
