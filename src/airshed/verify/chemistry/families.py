"""The full chemistry on a cut of the case west-europe: budgets of nitrogen and sulphur, and the iteration's drift."""

from collections.abc import Mapping
from typing import Any, Final

import xarray as xr

from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure
from airshed.verify.real import CASE

FAMILIES: Final = ("nitrogen", "sulphur")
MORNING: Final = "2022-08-31T06:00:00Z"
LIMIT_OF_SWEEPS: Final = {4: 1e-3, 16: 1e-6, 64: 1e-10, 128: 1e-13}
"""Greatest drift over emitted by number of sweeps: it goes to round-off."""

_CUT: Final = {"lon": [4.0, 8.0], "lat": [49.0, 53.0]}  # 16 x 16 columns with the Ruhr, the Randstad and Belgium
_CONVERGED: Final = "exact: 0 once converged"
_KEPT: Final = ("chemistry", "meteorology", "emissions", "deposition", "photolysis")
_BOUNDARY: Final[dict[str, Any]] = {
    "profiles": "clean-air",
    "scale": {"O3": 1.3, "CO": 1.4, "NO2": 5, "HNO3": 2, "PAN": 2, "SO2": 3, "HCHO": 3, "C2H6": 2, "NC4H10": 2,
              "H2O2": 0.25, "CH3O2H": 0.25},
}  # fmt: skip
"""Of the test problem, whatever the case has: its air is the initial state, to which the limits of drifts belong."""


def cut_case(length: str, *, start: str | None = None, **sections: Mapping[str, Any]) -> Case:
    """Return a part of west-europe with a boundary of its own, from the start of the case or another; no spin-up."""
    whole = Case.load(CASE)
    data = whole.to_dict()
    chosen: dict[str, Any] = {
        "grid": {**data["grid"], "area": _CUT},
        "time": {"start": start or data["time"]["start"], "length": length},
        **{name: data[name] for name in _KEPT},
        "boundary": _BOUNDARY,
        "run": {"threads": 1},
    }
    for name, section in sections.items():
        chosen[name] = {**chosen.get(name, {}), **section}
    return Case.from_dict(chosen, base=whole.base)


def family_budgets(case: Case) -> xr.Dataset:
    """Run a case and return the budgets of its families of elements [mol]."""
    with Simulation(case) as simulation:
        simulation.run()
        return simulation.budget().sel(species=list(FAMILIES))


def share(budget: xr.Dataset, family: str, term: str, of: str) -> float:
    """Return the magnitude of one term of a family over another."""
    chosen = budget.sel(species=family)
    return abs(float(chosen[term] / chosen[of]))


def check_drift(case: Case) -> list[Figure]:
    """Return how the budgets of the families close in a case, and the drift of the iteration at its sweeps."""
    budget, integrator = family_budgets(case), case.chemistry.integrator
    by, limit, reference = f", {case.chemistry.sweeps} sweeps", 5e-3, _CONVERGED
    if integrator == "strang":
        by, limit, reference = "", 1e-10, "exact: 0, a linear invariant of Rosenbrock methods"
    figures = []
    for family in FAMILIES:
        test = f"{family}, {case.time.length.text} of full chemistry, {integrator}"
        residual, drift = share(budget, family, "residual", "throughput"), share(budget, family, "drift", "emitted")
        figures += [
            Figure(test, "residual over throughput", residual, 1e-10, reference="exact: 0"),
            Figure(test, f"drift over emitted{by}", drift, limit, reference=reference),
        ]
    return figures


def check_convergence(sweeps: Mapping[int, float] = LIMIT_OF_SWEEPS) -> list[Figure]:
    """Return the drift of nitrogen in the first hour, when it is greatest, for numbers of sweeps with their limits."""
    test = "nitrogen, first hour of full chemistry"
    figures = []
    for count, limit in sweeps.items():
        budget = family_budgets(cut_case("1 h", start=MORNING, chemistry={"sweeps": count}))
        drift = share(budget, "nitrogen", "drift", "emitted")
        figures.append(Figure(test, f"drift over emitted, {count} sweeps", drift, limit, reference=_CONVERGED))
    return figures
