"""The shipped EMEP test problem, and small boxes of passive tracers."""

import copy
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.models.box.toy import CLOSED, load_toy

from airshed.core.files import resource
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.box import BoxConditions
from airshed.models.box.run import BoxRun

TRACER = {
    "time": {"length": "6 h", "output_every": "6 h"},
    "environment": {"temperature": "298 K"},
    "fixed": {"M": "2.5e19 molecules/cm3", "X": "0 molecules/cm3"},
    "rates": CLOSED,
    "deposition": {"TRACER": "0 1/s"},
    "solver": {"method": "gauss-seidel", "step": "600 s", "sweeps": 1},
}


@pytest.fixture(scope="session")
def emep() -> ReactionNetwork:
    return load_mechanism("emep")


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> ReactionNetwork:
    return load_toy(tmp_path_factory.mktemp("boxes"))


@pytest.fixture(scope="session")
def tracer() -> ReactionNetwork:
    return load_mechanism("tracer")


def changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with ``{"solver.step": "60 s"}`` set; None removes a key."""
    result = copy.deepcopy(dict(data))
    for key, value in changes.items():
        section, _, name = key.partition(".")
        table = result.setdefault(section, {}) if name else result
        if value is None:
            del table[name or section]
        else:
            table[name or section] = value
    return result


@pytest.fixture(scope="session")
def problem() -> Callable[..., BoxConditions]:
    """Return a function that returns the conditions of the EMEP problem for Gauss-Seidel, with changes."""
    data = tomllib.loads((resource("cases/emep-box") / "conditions.toml").read_text(encoding="utf-8"))
    data["solver"] = {"method": "gauss-seidel", "step": "300 s", "sweeps": 2}
    return lambda **changes: BoxConditions.from_dict(
        changed(data, {k.replace("__", "."): v for k, v in changes.items()})
    )


@pytest.fixture(scope="session")
def tracer_run(toy: ReactionNetwork) -> Callable[..., BoxRun]:
    """Return a function that returns a box of passive tracers, with changes."""

    def make(changes: Mapping[str, Any]) -> BoxRun:
        return BoxRun(toy, BoxConditions.from_dict(changed(TRACER, changes)))

    return make
