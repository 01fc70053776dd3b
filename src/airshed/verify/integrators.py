"""Integrators against each other and small steps, and Strang splitting by the checks that IMEX has to pass.

IMEX and Strang splitting share transport and column, but no chemistry: IMEX sweeps over the species of a column, Strang
splitting takes Rosenbrock steps in every cell, from code that another generator writes. Where neither transport nor
sources act both solve the same equations, so that their difference is an error of one of them.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from airshed.models.air.case import Case
from airshed.program.integrators import integrator as integrator_program
from airshed.runtime.simulation import Simulation
from airshed.verify.chemistry.families import MORNING, check_drift, cut_case
from airshed.verify.figure import Figure, observed_order
from airshed.verify.real import check_budget, check_uniform, real_case
from airshed.verify.sameness import State, compare, differing, final_state

INTEGRATORS: Final = ("imex", "strang")
FINE: Final = {"integrator": "imex", "sweeps": 8}
"""How the small-step reference is integrated."""

LEAST_ORDER: Final = {
    "imex": {"O3": 1.8, "NO2": 1.7, "CO": 1.8},
    "strang": {"O3": 1.6, "NO2": 1.6, "CO": 1.8},
    "lie": {"O3": 0.6, "NO2": 0.6, "CO": 1.2},
    "symmetric": {"O3": 1.7, "NO2": 1.7, "CO": 1.8},
    "concurrent": {"O3": 1.0, "NO2": 1.0, "CO": 1.3},
}
"""Emission and mixing that are fast compared with the step reduce the order of a splitting (Sportisse 2000); CO is
slow."""

ABUNDANT: Final = 1e-16
"""Greatest mixing ratio above which a species is compared."""

TIMES: Final = {"day": "2022-08-31T11:04:00Z", "night": "2022-08-31T00:00:00Z"}
"""Half an hour before the sun is highest at 6.5 E, where it then stands still for both, and a time without it."""

LIMIT_OF_SLOW: Final = 1e-5
LIMIT_OF_ALL: Final = 1e-3
_SLOW: Final = ("O3", "NO2", "PAN", "HNO3")
_RUHR: Final = {"lon": [6.0, 8.0], "lat": [50.5, 52.5]}
_FEW: Final = {"lon": [6.0, 6.75], "lat": [51.0, 51.5]}
_TIGHT: Final = {
    "integrator": "strang", "solver": "rodas4", "relative_tolerance": 1e-6,
    "absolute_tolerance": "1 molecules/cm3",
}  # fmt: skip


def part(length: str, area: dict[str, list[float]], start: str = MORNING, **sections: Any) -> Case:
    """Return a smaller part of west-europe than that of the other checks, with some settings changed."""
    case = cut_case(length, start=start, **sections)
    data = case.to_dict()
    return Case.from_dict({**data, "grid": {**data["grid"], "area": area}}, base=case.base)


def still(start: str, step: str, chemistry: dict[str, Any]) -> Case:
    """Return half an hour of chemistry without transport, mixing, sources and sinks."""
    none = {"advection": False, "diffusion": False}
    case = part("30 min", _FEW, start, time={"step": step}, chemistry=chemistry, transport=none)
    return Case.from_dict({**case.to_dict(), "emissions": {}, "deposition": {"scheme": "none"}}, base=case.base)


def check_chemistry() -> list[Figure]:
    """Return how far small steps of IMEX end from Strang splitting, here Rosenbrock alone, by day and night."""
    figures = []
    for name, start in TIMES.items():
        exact = final_state(still(start, "60 s", _TIGHT))
        found = final_state(still(start, "5 s", FINE))
        distances = {
            species: float(np.abs(found[species] - values).max() / values.max())
            for species, values in exact.items()
            if values.max() > ABUNDANT
        }
        test, reference = f"chemistry of IMEX at 5 s, {name}", "rodas4 at 1e-6 by Strang splitting"
        what = f"{len(distances)} species: greatest difference over maximum"
        figures += [
            Figure(test, ", ".join(_SLOW), max(distances[each] for each in _SLOW), LIMIT_OF_SLOW, reference=reference),
            Figure(test, what, max(distances.values()), LIMIT_OF_ALL, reference=reference),
        ]
    return figures


def check_orders(steps: tuple[int, int] = (150, 75)) -> list[Figure]:
    """Return the order in time of all integrators in an hour of the whole model, against IMEX with steps of 5 s."""

    def end(step: int, chemistry: dict[str, Any]) -> State:
        return final_state(part("1 h", _RUHR, time={"step": f"{step} s"}, chemistry=chemistry))

    exact, figures = end(5, FINE), []
    for integrator, species_orders in LEAST_ORDER.items():
        coarse, fine = (end(step, {"integrator": integrator}) for step in steps)
        for species, least in species_orders.items():
            order = observed_order(*(_l1(each[species], exact[species]) for each in (coarse, fine)))
            what = f"order of l1, {species}, {steps[0]} s to {steps[1]} s"
            test, claimed = f"{integrator}, an hour of full chemistry", integrator_program(integrator).order
            reference = f"{claimed}; errors against IMEX at 5 s, 8 sweeps"
            figures.append(Figure(test, what, order, least, True, reference))
    return figures


def _l1(found: Any, exact: Any) -> float:
    return float(np.abs(found - exact).sum() / exact.sum())


def resumed(case: Case, until: str) -> State:
    """Run a case up to a time into a folder, drop it, and return the end state of a run that goes on from disk."""
    with TemporaryDirectory() as folder:
        with Simulation(case, output=Path(folder) / "run") as simulation:
            simulation.run(until=until)
        with Simulation(case, output=Path(folder) / "run", resume=True) as simulation:
            simulation.run()
            return dict(zip(simulation.model.network.names, simulation.model.mixing_ratios(), strict=True))


def check_restart() -> list[Figure]:
    """Return the numbers that differ when a run goes on from its newest restart on disk, for both integrators."""
    figures = []
    for integrator in INTEGRATORS:
        case = part("30 min", _RUHR, chemistry={"integrator": integrator}, restart={"every": "10 min"})
        count = differing(final_state(case), resumed(case, "25 min"))
        test = f"{integrator}, resumed at 20 of 30 min"
        figures.append(Figure(test, "numbers that differ in any bit", count, 0, reference="exact: 0"))
    return figures


def check_strang(deposition: dict[str, Any]) -> list[Figure]:
    """Return what Strang splitting makes of the checks of IMEX: real winds, budgets, families, threads, precision."""
    chosen = {"integrator": "strang"}
    return [
        *check_uniform(real_case(chemistry=chosen)),
        *check_budget(real_case(chemistry=chosen, deposition=deposition)),
        *check_drift(cut_case("1 h", start=MORNING, chemistry=chosen)),
        *compare(cut_case("20 min", start=MORNING, chemistry=chosen)),
    ]
