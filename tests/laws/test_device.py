"""A run on a device, through the shim, equals the run on the CPU to rounding; it refuses an adjoint and groups."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError
from airshed.inverse.reverse.derivatives import create_derivatives
from airshed.kernels.backends.cuda.device import SHIM_VARIABLE, present_device

from .cases import small_case


@pytest.fixture(autouse=True)
def shim(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(SHIM_VARIABLE, "1")
    present_device.cache_clear()
    yield
    present_device.cache_clear()


@pytest.mark.thorough
@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_run_on_a_device_equals_that_on_the_cpu(tmp_path: Path, integrator: str) -> None:
    there, here = (fields_of(tmp_path, integrator, device) for device in ("cuda", "cpu"))
    assert worst(there, here) < 1e-10
    assert worst(there, fields_of(tmp_path, integrator, "cpu", wet_deposition={"coefficients": {}})) > 1e-6


@pytest.mark.thorough
def test_a_run_on_a_device_has_no_adjoint(tmp_path: Path) -> None:
    case = small_case(tmp_path, run={"threads": 1, "device": "cuda"})
    with airshed.Simulation(case) as simulation, pytest.raises(CaseError, match=r"no adjoint yet; set run.device"):
        create_derivatives(simulation.model)


def test_groups_of_ranks_run_on_the_cpu(tmp_path: Path) -> None:
    groups = {"parallel": {"groups": {"transport": 1, "chemistry": 1}}, "chemistry": {"integrator": "strang"}}
    assert small_case(tmp_path, **groups).has_groups
    with pytest.raises(CaseError, match=r"run on the CPU; set run.device"):
        _ = small_case(tmp_path, **groups, run={"threads": 1, "device": "cuda"}).has_groups


def fields_of(folder: Path, integrator: str, device: str, **sections: Any) -> dict[str, np.ndarray]:
    """Return the mixing ratios of all species after the case."""
    settings = {"chemistry": {"integrator": integrator}, "run": {"threads": 1, "device": device}, **sections}
    with airshed.Simulation(small_case(folder, **settings)) as simulation:
        simulation.run()
        return {name: np.array(simulation[name].values) for name in simulation.species}


def worst(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Return the largest difference, relative to the largest value of each species."""
    return max(float(np.abs(found[name] - each).max() / np.abs(each).max()) for name, each in expected.items())
