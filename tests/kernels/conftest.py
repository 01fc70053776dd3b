"""Compiled kernels that many tests share; compiling takes seconds, so there are few."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from airshed.kernels.cpu.pipeline import MechanismKernel, compile_mechanism
from airshed.mechanism import ReactionNetwork, load_mechanism

from .kinds import usual

TOY = Path(__file__).parent / "data" / "toy.kpp"


@cache
def network(name: str) -> ReactionNetwork:
    return load_mechanism(TOY if name == "toy" else name)


@cache
def compiled(name: str, levels: int, precision: str = "double", **options: Any) -> MechanismKernel:
    mechanism = network(name)
    families = tuple(element for element in ("N", "S") if element in mechanism.atoms)
    operators = options.pop("operators", usual)(len(mechanism.species))
    return compile_mechanism(mechanism, levels, precision, families=families, operators=operators, **options)


@pytest.fixture(scope="session", name="network")
def network_fixture() -> Callable[[str], ReactionNetwork]:
    """Return a mechanism by name: a shipped one, or "toy"."""
    return network


@pytest.fixture(scope="session", name="compiled")
def compiled_fixture() -> Callable[..., MechanismKernel]:
    """Return the kernel of a mechanism, a number of levels and a precision, with mixing and deposition if not said."""
    return compiled
