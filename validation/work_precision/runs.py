"""Runs of a part of west-europe with both integrators: costs, and errors against a reference with very small steps.

Space is the same in all runs: grid, layers, limiter, hourly weather and emission. Only the time stepping differs, so
that the reference is the limit of small steps, not the true state of the air.
"""

from dataclasses import dataclass, field
from statistics import median
from time import process_time
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from airshed.verify.west_europe import cut_case

Array = npt.NDArray[np.float64]

SPECIES: Final = ("O3", "NO2", "OH", "PAN")
PERIODS: Final = {"morning": 5, "afternoon": 12}
"""First hour [UTC] of 31 August 2022: sunrise with the rush hour in a shallow layer; and the deep layer of the day."""

HOURS: Final = 3
REPEATS: Final = 3
_SPINUP: Final = "24 h"


@dataclass(frozen=True)
class Setting:
    """An integrator with its settings; `step` [s]."""

    integrator: str
    step: float
    chemistry: dict[str, Any] = field(default_factory=dict)

    def case(self, hour: int) -> Case:
        """Return the case from an hour of the day."""
        return cut_case(
            f"{HOURS} h", start=f"2022-08-31T{hour:02d}:00:00Z", time={"step": f"{self.step} s"},
            chemistry={"integrator": self.integrator, **self.chemistry},
        )  # fmt: skip


def settings() -> list[Setting]:
    """Return the compared settings."""
    imex = [
        Setting("imex", step, {"sweeps": sweeps}) for sweeps in (1, 2, 4) for step in (300.0, 150.0, 100.0, 60.0, 30.0)
    ]
    strang = [
        Setting("strang", step, {"solver": solver, "relative_tolerance": tolerance})
        for solver in ("ros3", "rodas3")
        for tolerance in (1e-1, 1e-2, 1e-3)
        for step in (900.0, 600.0, 300.0, 150.0)
    ]
    return [*imex, *strang]


_TIGHT: Final = {"solver": "rodas3", "relative_tolerance": 1e-4, "absolute_tolerance": "10 molecules/cm3"}
REFERENCE: Final = Setting("imex", 5.0, {"sweeps": 8})
CHECKS: Final = (Setting("imex", 10.0, {"sweeps": 8}), Setting("strang", 10.0, _TIGHT), Setting("strang", 5.0, _TIGHT))
"""Solutions compared with the reference: twice its step, and the other integrator with tight tolerances."""


def state_at(hour: int) -> xr.Dataset:
    """Return the state at an hour of the day, from the default integrator."""
    with Simulation(cut_case(f"{hour} h", time={"spinup": _SPINUP})) as simulation:
        simulation.run()
        return xr.merge([simulation[name].drop_vars("time") for name in simulation.model.network.names])


def advance(setting: Setting, hour: int, start: xr.Dataset) -> tuple[Array, float]:
    """Return the mixing ratios (hour, species, level, lat, lon) at the full hours of a period, and its cost [CPU s]."""
    records = []
    with Simulation(setting.case(hour), initial=start) as simulation:
        began = process_time()
        for _ in range(HOURS):
            simulation.run(until=3600.0 * (len(records) + 1))
            records.append(np.stack([simulation[name].values for name in SPECIES]))
        return np.stack(records), process_time() - began


def errors(result: Array, reference: Array) -> dict[str, dict[str, float]]:
    """Return the relative l1 norm of the difference of each species, of all cells and of those at the ground."""
    return {
        name: {
            where: float(np.abs(result[:, i, :top] - reference[:, i, :top]).sum() / reference[:, i, :top].sum())
            for where, top in (("all", None), ("ground", 1))
        }
        for i, name in enumerate(SPECIES)
    }


def period(hour: int) -> dict[str, Any]:
    """Return errors and costs of all settings in one period; costs are medians of alternating runs."""
    start = state_at(hour)
    reference, _ = advance(REFERENCE, hour, start)
    checks = [advance(setting, hour, start)[0] for setting in CHECKS]
    # Strang splitting is of second order: its limit from steps of 10 and 5 s
    limit = (4.0 * checks[2] - checks[1]) / 3.0
    chosen = settings()
    first, *later = [[advance(setting, hour, start) for setting in chosen] for _ in range(REPEATS)]
    costs = [median(each[number][1] for each in (first, *later)) for number in range(len(chosen))]
    return {
        "reference": {
            "imex, 10 s": errors(checks[0], reference),
            "strang, 10 s": errors(checks[1], reference),
            "strang, 5 s": errors(checks[2], reference),
            "strang, extrapolated": errors(limit, reference),
        },
        "runs": [
            {
                "integrator": setting.integrator, "step": setting.step, **setting.chemistry,
                "cpu_seconds": cost, "errors": errors(result, reference),
            }
            for setting, (result, _), cost in zip(chosen, first, costs, strict=True)
        ],
    }  # fmt: skip


def run() -> dict[str, Any]:
    """Return errors and costs of all periods."""
    return {name: period(hour) for name, hour in PERIODS.items()}
