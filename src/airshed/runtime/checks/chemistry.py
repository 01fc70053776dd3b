"""The full chemistry on a cut of the case west-europe: budgets of nitrogen and sulphur, and the drift of the iteration."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import xarray as xr

from airshed.air.case import Case
from airshed.runtime.checks.figure import Figure
from airshed.runtime.checks.real import CASE
from airshed.runtime.simulation import Simulation

FAMILIES: Final = ("nitrogen", "sulphur")
_CUT: Final = {"lon": [4.0, 8.0], "lat": [49.0, 53.0]}  # 16 x 16 columns with the Ruhr, the Randstad and Belgium
_KEPT: Final = ("meteorology", "emissions", "deposition", "boundary", "photolysis")


def cut_case(hours: float = 3.0, start: str = "2022-08-31T06:00:00Z", **sections: Mapping[str, Any]) -> Case:
    """Return some hours of a part of west-europe with everything that the whole case has, without spin-up."""
    whole = Case.load(CASE)
    data = whole.to_dict()
    chosen: dict[str, Any] = {
        "grid": {**data["grid"], "area": _CUT},
        "time": {"start": start, "length": f"{hours!r} h"},
        "chemistry": data["chemistry"],
        **{name: data[name] for name in _KEPT},
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


def check(hours: float = 3.0, sweeps: Sequence[int] = (4, 8, 16)) -> list[Figure]:
    """Return residual and drift of each family at the default sweeps, and the drift with more sweeps."""
    default = cut_case(hours)
    budget = family_budgets(default)
    more = {count: family_budgets(cut_case(hours, chemistry={"mechanism": "emep", "sweeps": count})) for count in sweeps}
    figures = []
    for family in FAMILIES:
        test = f"{family}, {hours:g} h of full chemistry"
        drift = share(budget, family, "drift", "emitted")
        figures += [
            Figure(test, "residual over throughput", share(budget, family, "residual", "throughput"), 1e-10, reference="round-off"),
            Figure(test, f"drift over emitted, {default.chemistry.sweeps} sweeps", drift, 5e-3, reference="0 when converged"),
        ]
        last = len(sweeps) - 1
        for number, (count, each) in enumerate(more.items()):
            limit = 1e-10 if number == last else 5e-3 * 0.1 ** (number + 1)
            figures.append(Figure(test, f"drift over emitted, {count} sweeps", share(each, family, "drift", "emitted"), limit))
    return figures
