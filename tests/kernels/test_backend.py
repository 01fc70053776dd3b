"""A model asks its backend for what the protocols name, and for nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.inverse.test_box import air_of
from tests.laws.cases import small_case

import airshed
from airshed.kernels.backend import Backend, StepKernel, Stepper, backend
from airshed.kernels.backends.cpu.backend import CpuBackend
from airshed.kernels.backends.cpu.kernel import MechanismKernel
from airshed.kernels.cell_backend import CellKernel, CellSolver


def named(protocol: type) -> set[str]:
    """The members of a protocol."""
    return {name for name in {*vars(protocol), *protocol.__annotations__} if not name.startswith("_")}


class Only:
    """An object of which nothing can be asked but what a protocol names; what its methods of a name make is so, too."""

    def __init__(self, base: Any, protocol: type, makes: dict[str, type]) -> None:
        self._base, self._named, self._makes = base, named(protocol), makes

    def __getattr__(self, name: str) -> Any:
        if name not in self._named:
            raise AssertionError(f"{name} is no part of the protocol")
        found = getattr(self._base, name)
        if name not in self._makes:
            return found
        return lambda *given, **more: Only(found(*given, **more), self._makes[name], {})


def simulated(folder: Path, integrator: str) -> bytes:
    case = small_case(folder, time={"length": "20 min"}, chemistry={"integrator": integrator})
    with airshed.Simulation(case) as simulation:
        simulation.run()
        simulation.summary()
        assert np.count_nonzero(simulation["NO"].values)
        return simulation["NO"].values.tobytes()


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_run_asks_for_nothing_that_the_protocols_do_not_name(
    integrator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, compiled = simulated(tmp_path, integrator), CpuBackend.compile_mechanism

    def compile_mechanism(cpu: CpuBackend, *given: Any, **more: Any) -> Any:
        return Only(compiled(cpu, *given, **more), StepKernel, {"stepper": Stepper})

    monkeypatch.setattr(CpuBackend, "compile_mechanism", compile_mechanism)
    assert simulated(tmp_path, integrator) == expected


def in_a_box(folder: Path) -> bytes:
    air = air_of("small", folder)
    return airshed.box(air.network, air.day)["O3"].values.tobytes()


def test_a_box_asks_for_nothing_that_the_protocols_do_not_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, compiled = in_a_box(tmp_path), CpuBackend.compile_chemistry

    def compile_chemistry(cpu: CpuBackend, *given: Any, **more: Any) -> Any:
        return Only(compiled(cpu, *given, **more), CellKernel, {"solver": CellSolver})

    monkeypatch.setattr(CpuBackend, "compile_chemistry", compile_chemistry)
    assert in_a_box(tmp_path) == expected


def test_what_the_protocols_do_not_name_is_refused(compiled: Callable[..., MechanismKernel]) -> None:
    """The negative control."""
    kernel = compiled("tracer", 3)
    with pytest.raises(AssertionError, match="functions is no part"):
        _ = Only(kernel, StepKernel, {}).functions
    assert Only(kernel, StepKernel, {}).network is kernel.network


def test_a_backend_is_found_by_its_name() -> None:
    found: Backend = backend("cpu")
    assert backend() is found or backend().width == found.width
    with pytest.raises(ModuleNotFoundError):
        backend("abacus")
