"""Compiled kernels that many tests share; compiling takes seconds, so there are few."""

import ctypes
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from airshed.kernels import arrays
from airshed.kernels import toolchain as host
from airshed.kernels.backends.cpu.kernel import StepKernel, compile_mechanism
from airshed.kernels.backends.cuda.cells import DeviceCellKernel, compile_chemistry
from airshed.kernels.backends.cuda.device import Shim
from airshed.kernels.backends.cuda.kernel import compile_mechanism as compile_for_device
from airshed.kernels.cells import emit as chemistry_emit
from airshed.kernels.cpp import header
from airshed.kernels.toolchain import build, load
from airshed.mechanism import ReactionNetwork, load_mechanism

from .kinds import every, usual

TOY = Path(__file__).parent / "data" / "toy.kpp"


@cache
def network(name: str) -> ReactionNetwork:
    return load_mechanism(TOY if name == "toy" else name)


@cache
def compiled(name: str, levels: int, precision: str = "double", **options: Any) -> StepKernel:
    mechanism = network(name)
    families = tuple(element for element in ("N", "S") if element in mechanism.atoms)
    operators = options.pop("operators", usual)(len(mechanism.species))
    return compile_mechanism(mechanism, levels, precision, families=families, operators=operators, **options)


def toy_of_all_kinds(precision: str = "double") -> StepKernel:
    """Return the kernel of the toy mechanism with all kinds of operators, in the number of levels of the catalogue."""
    return compiled("toy", 7, precision, operators=every)


def toy_on_a_device(warps: int = 2, seed: int = 1, levels: int = 7) -> StepKernel:
    """Return the same kernel for the CUDA backend, through the shim."""
    found, device = network("toy"), Shim(warps, seed)
    operators = every(len(found.species))
    return compile_for_device(found, levels, families=found.atoms, operators=operators, device=device)


@cache
def cells_on_a_device(
    name: str, precision: str = "double", *, warps: int = 2, seed: int = 1, looped: bool = False
) -> DeviceCellKernel:
    """Return the chemistry of independent cells for the CUDA backend, through the shim."""
    with pytest.MonkeyPatch.context() as patch:
        if looped:
            patch.setattr(chemistry_emit, "_LARGEST_UNROLLED", 0)
        return compile_chemistry(network(name), precision, device=Shim(warps, seed))


def shim_controls() -> ctypes.CDLL:
    """Return small kernels for tests of the shim."""
    text = (Path(__file__).parent / "data" / "shim_controls.cpp").read_text()
    return load(build(text.replace("@shim@", header("backends/cuda/shim.hpp")), name="shim-controls"))


@pytest.fixture
def product_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Select the compiler and the optimisation of users, also for libraries that are compiled once per process."""
    monkeypatch.setenv("AIRSHED_CXX", os.environ["AIRSHED_TEST_COMPILER"])
    found_once = host._toolchain, arrays._functions
    for each in found_once:
        each.cache_clear()
    yield
    for each in found_once:
        each.cache_clear()


@pytest.fixture(scope="session", name="network")
def network_fixture() -> Callable[[str], ReactionNetwork]:
    """Return a mechanism by name: a shipped one, or "toy"."""
    return network


@pytest.fixture(scope="session", name="compiled")
def compiled_fixture() -> Callable[..., StepKernel]:
    """Return the kernel of a mechanism, a number of levels and a precision, by default with mixing and deposition."""
    return compiled
