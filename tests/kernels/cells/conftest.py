"""Compiled chemistry that many tests share; compiling takes seconds, so there are few."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from airshed.kernels.backends.cpu.cells import CellKernel, compile_chemistry
from airshed.kernels.cells import emit as chemistry_emit
from airshed.mechanism import ReactionNetwork, load_mechanism

TOY = Path(__file__).parents[1] / "data" / "toy.kpp"


@cache
def network(name: str) -> ReactionNetwork:
    return load_mechanism(TOY if name == "toy" else name)


@cache
def chemistry(name: str, precision: str = "double", *, width: int | None = None, looped: bool = False) -> CellKernel:
    with pytest.MonkeyPatch.context() as patch:
        if looped:
            patch.setattr(chemistry_emit, "_LARGEST_UNROLLED", 0)
        return compile_chemistry(network(name), precision, width=width, inspected=True)


@pytest.fixture(scope="session", name="chemistry")
def chemistry_fixture() -> Callable[..., CellKernel]:
    """Return the chemistry of a mechanism by name, a shipped one or "toy"."""
    return chemistry
