"""A model asks its backend for what the protocols name, and for nothing else."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.kernels.backend import Backend, StepKernel, Stepper, backend
from airshed.kernels.cell_backend import CellKernel, CellSolver
from airshed.kernels.cpu.backend import CpuBackend
from airshed.mechanism import load_mechanism

WINDS = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 2.0})


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


def case(integrator: str) -> airshed.Case:
    return airshed.Case.from_dict({
        "grid": {"area": {"lon": [-5, 5], "lat": [-5, 5]}, "spacing": "1 deg", "layers": ["500 m", "1000 m"]},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "1 h", "step": "600 s"},
        "chemistry": {"mechanism": "tracer", "integrator": integrator},
        "deposition": {"scheme": "none"},
        "emissions": {"point": [{"species": "TRACER", "lon": 0.1, "lat": 0.1, "rate": "1 mol/s"}]},
    })  # fmt: skip


def simulated(integrator: str) -> bytes:
    with airshed.Simulation(case(integrator), WINDS) as simulation:
        simulation.run()
        simulation.summary()
        assert np.count_nonzero(simulation["TRACER"].values)
        return simulation["TRACER"].values.tobytes()


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_run_asks_for_nothing_that_the_protocols_do_not_name(
    integrator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, compiled = simulated(integrator), CpuBackend.compile_mechanism

    def compile_mechanism(cpu: CpuBackend, *given: Any, **more: Any) -> Any:
        return Only(compiled(cpu, *given, **more), StepKernel, {"stepper": Stepper})

    monkeypatch.setattr(CpuBackend, "compile_mechanism", compile_mechanism)
    assert simulated(integrator) == expected


def in_a_box() -> bytes:
    sky = {"temperature": "290 K", "pressure": "1000 hPa", "location": {"lat": 45.0, "lon": 10.0, "date": "2022-06-21"}}
    conditions = {"time": {"start": "11 h", "length": "1 h"}, "environment": sky, "initial": {"O3": "40 ppb"}}
    return airshed.box("chapman", conditions)["O3"].values.tobytes()


def test_a_box_asks_for_nothing_that_the_protocols_do_not_name(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, compiled = in_a_box(), CpuBackend.compile_chemistry

    def compile_chemistry(cpu: CpuBackend, *given: Any, **more: Any) -> Any:
        return Only(compiled(cpu, *given, **more), CellKernel, {"solver": CellSolver})

    monkeypatch.setattr(CpuBackend, "compile_chemistry", compile_chemistry)
    assert in_a_box() == expected


def test_what_the_protocols_do_not_name_is_refused() -> None:
    """The negative control."""
    kernel = backend().compile_mechanism(load_mechanism("tracer"), 2)
    with pytest.raises(AssertionError, match="functions is no part"):
        _ = Only(kernel, StepKernel, {}).functions
    assert Only(kernel, StepKernel, {}).network is kernel.network


def test_a_backend_is_found_by_its_name() -> None:
    found: Backend = backend("cpu")
    assert backend() is found or backend().width == found.width
    with pytest.raises(ModuleNotFoundError):
        backend("abacus")
