"""Checks with the case west-europe: passive tracers in its winds, full chemistry, threads, precision, integrators.

IMEX and Strang splitting share transport and columns, but no chemistry. IMEX sweeps over the species of a column;
Strang splitting takes Rosenbrock steps in every cell, with code of another generator. Without transport and sources
both solve the same equations, so that their difference is an error of one of them.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import xarray as xr

from airshed.core.arrays import Array
from airshed.models.air.case import Case
from airshed.program.integrators import integrator as integrator_program
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure, observed_order

CASE: Final = "west-europe"
LIMIT_OF_CLIPPING: Final = {"imex": 1e-12, "strang": 1e-11}
"""Largest clipped fraction of the emission of chimneys.

In the one-step formula of Strang splitting, a weight of transport is negative. It clips 4e-13 at a Courant number of
0.4, 2e-17 at 0.1, and 0 with two Euler steps instead."""

_RATE: Final = 2.0  # [mol/s] of each chimney
_BACKGROUND: Final = 1e-9
_CHIMNEYS: Final = ((6.7, 51.4, 100), (2.35, 48.85, 20), (9.2, 45.5, 20), (0.1, 54.9, 300), (9.9, 45.1, 2500))


def real_case(length: str = "24 h", threads: int = 1, **sections: Mapping[str, Any]) -> Case:
    """Return west-europe with passive tracers: 1 ppb of TRACER everywhere and at the boundary, chimneys of TRACER2."""
    whole = Case.load(CASE)
    chimneys = [
        {"species": "TRACER2", "lon": lon, "lat": lat, "height": f"{height} m", "rate": f"{_RATE} mol/s"}
        for lon, lat, height in _CHIMNEYS
    ]
    data = whole.to_dict()
    chosen: dict[str, Any] = {
        "grid": data["grid"],
        "time": {"start": data["time"]["start"], "length": length},
        "chemistry": {"mechanism": "tracer"},
        "meteorology": data["meteorology"],
        "boundary": {"values": {"TRACER": f"{_BACKGROUND!r} mol/mol"}},
        "emissions": {"point": chimneys},
        "deposition": {"scheme": "none"},
        "run": {"threads": threads},
    }
    chosen |= {name: {**chosen.get(name, {}), **section} for name, section in sections.items()}
    return Case.from_dict(chosen, base=whole.base)


def check_uniform(case: Case) -> list[Figure]:
    """Return the deviation of a uniform tracer over all steps, the drift of the air, and the minimum of plumes."""
    uniform = drift = 0.0
    with Simulation(case) as simulation:

        def look(_: object) -> None:
            nonlocal uniform
            uniform = max(uniform, float(np.abs(simulation["TRACER"].values / _BACKGROUND - 1.0).max()))

        for hour in range(1, round(case.time.length.value / 3600.0) + 1):
            simulation.run(until=3600.0 * hour, observer=look)
            drift = max(drift, air_drift(simulation))
        budget = simulation.budget().sel(species="TRACER2")
        least = float(simulation["TRACER2"].values.min())
        clipped = float(budget["clipped"] / budget["emitted"])
    integrator = case.chemistry.integrator
    test, limit = f"real winds, {case.time.length.text}, {integrator}", LIMIT_OF_CLIPPING[integrator]
    why = "exact: 0" if integrator == "imex" else "exact: 0; a weight of ARS(2,2,2) is negative"
    return [
        Figure(test, "uniform mixing ratio, greatest deviation", uniform, 1e-12, reference="exact: 0"),
        Figure(test, "advanced air against the given, greatest deviation", drift, 1e-7, reference="exact: 0"),
        Figure(test, "plumes of five chimneys, least value", least, 0.0, at_least=True, reference="exact: above 0"),
        Figure(test, "clipped at zero, share of emitted", clipped, limit, reference=why),
    ]


def air_drift(simulation: Simulation) -> float:
    """Return the largest relative deviation of the advanced air of the model from the air of the meteorology."""
    model = simulation.model
    advanced = model.layout.unpack(model.stepper.state.air) / model.grid.cell_volume
    return float(np.abs(advanced / simulation["air_density"].values - 1.0).max())


def check_budget(case: Case) -> list[Figure]:
    """Return the residuals of budgets with emission, deposition, inflow and outflow, and the error of the emission.

    The initial and final amounts are computed from mixing ratios and air; the case has the exact emission.
    """
    with Simulation(case) as simulation:
        before = [content(simulation, name) for name in ("TRACER", "TRACER2")]
        simulation.run()
        after = [content(simulation, name) for name in ("TRACER", "TRACER2")]
        budget = simulation.budget()
    test = f"budget of a passive tracer, {case.time.length.text}, {case.chemistry.integrator}"
    figures = []
    for i, (name, text) in enumerate((("TRACER", "background"), ("TRACER2", "plumes"))):
        terms = {str(term): float(values) for term, values in budget.sel(species=name).data_vars.items()}
        balance = terms["inflow"] - terms["outflow"] + terms["emitted"] - terms["deposited"] + terms["clipped"]
        residual = abs(after[i] - before[i] - balance) / terms["throughput"]
        figures.append(Figure(test, f"{text}: residual over throughput", residual, 1e-12, reference="exact: 0"))
    emitted = float(budget["emitted"].sel(species="TRACER2"))
    asked = _RATE * len(case.emissions.point) * case.time.length.value
    deposited = float(budget["deposited"].sel(species="TRACER2"))
    return [
        *figures,
        Figure(test, "plumes: emitted against the rates", abs(emitted / asked - 1.0), 1e-12, reference="exact: 0"),
        Figure(test, "plumes: share deposited, there at all", deposited / emitted, 1e-3, True, "exact: above 0"),
    ]


def content(simulation: Simulation, species: str) -> float:
    """Return the amount of a species in the air of the model [mol]."""
    air = simulation.model.layout.unpack(simulation.model.stepper.state.air)
    return float(np.sum(simulation[species].values * air))


# Full chemistry in a part of the case west-europe: budgets of nitrogen and sulphur, and the drift of the iteration.


FAMILIES: Final = ("nitrogen", "sulphur")
MORNING: Final = "2022-08-31T06:00:00Z"
LIMIT_OF_SWEEPS: Final = {4: 1e-3, 16: 1e-6, 64: 1e-10, 128: 1e-13}
"""Largest drift relative to emission by number of sweeps: it converges to round-off."""

_CUT: Final = {"lon": [4.0, 8.0], "lat": [49.0, 53.0]}  # 16 x 16 columns with the Ruhr, the Randstad and Belgium
_CONVERGED: Final = "exact: 0 once converged"
_KEPT: Final = ("chemistry", "meteorology", "emissions", "deposition", "photolysis")
_BOUNDARY: Final[dict[str, Any]] = {
    "profiles": "clean-air",
    "scale": {"O3": 1.3, "CO": 1.4, "NO2": 5, "HNO3": 2, "PAN": 2, "SO2": 3, "HCHO": 3, "C2H6": 2, "NC4H10": 2,
              "H2O2": 0.25, "CH3O2H": 0.25},
}  # fmt: skip
"""Boundary of the test problem, independent of the case: the limits of drifts apply to its air."""


def cut_case(length: str, *, start: str | None = None, **sections: Mapping[str, Any]) -> Case:
    """Return a part of west-europe with its own boundary, from the start of the case or another; no spin-up."""
    whole = Case.load(CASE)
    data = whole.to_dict()
    chosen: dict[str, Any] = {
        "grid": {**data["grid"], "area": _CUT},
        "time": {"start": start or data["time"]["start"], "length": length},
        **{name: data[name] for name in _KEPT},
        "boundary": _BOUNDARY,
        "run": {"threads": 1},
    }
    chosen |= {name: {**chosen.get(name, {}), **section} for name, section in sections.items()}
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
    """Return the residuals of the budgets of the families in a case, and the drift of the iteration."""
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
    """Return the drift of nitrogen in the first hour, with its maximum, for numbers of sweeps with their limits."""
    test = "nitrogen, first hour of full chemistry"
    figures = []
    for count, limit in sweeps.items():
        budget = family_budgets(cut_case("1 h", start=MORNING, chemistry={"sweeps": count}))
        drift = share(budget, "nitrogen", "drift", "emitted")
        figures.append(Figure(test, f"drift over emitted, {count} sweeps", drift, limit, reference=_CONVERGED))
    return figures


# Equal results on any number of threads, and similar results in single precision.


COMPARED: Final = ("O3", "NO2", "CO", "HNO3", "SO2", "HCHO")
"""Species for the comparison with single precision: abundant ones of each kind."""


State = dict[str, Array]
"""Mixing ratios (level, lat, lon) by species."""

LIMIT_OF_SINGLE: Final = {"imex": 1e-5, "strang": 1e-4}
"""Some times the first measurement; Strang splitting can take other steps, with a tolerance of 1e-2 for each."""


def final_state(case: Case) -> State:
    """Run a case and return the mixing ratios of all species at its end, (level, lat, lon)."""
    with Simulation(case) as simulation:
        simulation.run()
        return dict(zip(simulation.model.network.names, simulation.model.mixing_ratios(), strict=True))


def differing(one: State, other: State) -> int:
    """Return the count of numbers with different bits in two states."""
    return sum(int(np.count_nonzero(one[name] != other[name])) for name in one)


def distance(one: State, other: State, species: str) -> float:
    """Return the largest difference of a species relative to its largest mixing ratio."""
    return float(np.abs(one[species] - other[species]).max() / np.abs(one[species]).max())


def with_settings(case: Case, **sections: dict[str, Any]) -> Case:
    """Return a case with some settings of some sections changed."""
    data = case.to_dict()
    changed = {name: {**data[name], **section} for name, section in sections.items()}
    return Case.from_dict(data | changed, base=case.base)


def compare(case: Case, threads: int = 2) -> list[Figure]:
    """Return the count of numbers that differ between 1 and more threads, and the error of single precision."""
    double = final_state(case)
    parallel = final_state(with_settings(case, run={"threads": threads}))
    single = final_state(with_settings(case, chemistry={"precision": "single"}))
    integrator = case.chemistry.integrator
    what = f"{case.time.length.text} of full chemistry, {integrator}"
    limit, reference = LIMIT_OF_SINGLE[integrator], "double precision"
    return [
        Figure(
            f"{threads} threads against 1, {what}", "numbers that differ in any bit", differing(double, parallel), 0,
            reference="exact: 0",
        ),
        *(
            Figure(
                f"single precision, {what}", f"{name}: greatest difference over maximum",
                distance(double, single, name), limit, reference=reference,
            )
            for name in COMPARED
        ),
    ]  # fmt: skip


def check_threads(length: str = "1 h") -> list[Figure]:
    """Return the figures of :func:`compare` in a part of west-europe, for IMEX."""
    return compare(cut_case(length))


# Integrators against each other and against small steps; Strang splitting in the checks of IMEX.


INTEGRATORS: Final = ("imex", "strang")
FINE: Final = {"integrator": "imex", "sweeps": 8}
"""Settings of the reference with small steps."""

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
"""Mixing ratio whose excess anywhere makes a species part of the comparison."""

TIMES: Final = {"day": "2022-08-31T11:04:00Z", "night": "2022-08-31T00:00:00Z"}
"""Times of comparison: half an hour before the highest sun at 6.5 E, where the sun changes least, and a dark one."""

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
    """Return a smaller part of west-europe than in the other checks, with some settings changed."""
    case = cut_case(length, start=start, **sections)
    data = case.to_dict()
    return Case.from_dict({**data, "grid": {**data["grid"], "area": area}}, base=case.base)


def still(start: str, step: str, chemistry: dict[str, Any]) -> Case:
    """Return half an hour of chemistry without transport, mixing, sources and sinks."""
    none = {"advection": False, "diffusion": False}
    case = part("30 min", _FEW, start, time={"step": step}, chemistry=chemistry, transport=none)
    return Case.from_dict({**case.to_dict(), "emissions": {}, "deposition": {"scheme": "none"}}, base=case.base)


def check_chemistry() -> list[Figure]:
    """Return the difference of IMEX with small steps from Strang splitting, here only Rosenbrock, by day and night."""
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
    """Run a case up to a time into a folder, and return the end state of a run that resumes from the folder."""
    with TemporaryDirectory() as folder:
        with Simulation(case, output=Path(folder) / "run") as simulation:
            simulation.run(until=until)
        with Simulation(case, output=Path(folder) / "run", resume=True) as simulation:
            simulation.run()
            return dict(zip(simulation.model.network.names, simulation.model.mixing_ratios(), strict=True))


def check_restart() -> list[Figure]:
    """Return the count of numbers that differ after a resume from the newest restart on disk, for both integrators."""
    figures = []
    for integrator in INTEGRATORS:
        case = part("30 min", _RUHR, chemistry={"integrator": integrator}, restart={"every": "10 min"})
        count = differing(final_state(case), resumed(case, "25 min"))
        test = f"{integrator}, resumed at 20 of 30 min"
        figures.append(Figure(test, "numbers that differ in any bit", count, 0, reference="exact: 0"))
    return figures


def check_strang(deposition: dict[str, Any]) -> list[Figure]:
    """Return the figures of Strang splitting for real winds, budgets, families, threads and precision."""
    chosen = {"integrator": "strang"}
    return [
        *check_uniform(real_case(chemistry=chosen)),
        *check_budget(real_case(chemistry=chosen, deposition=deposition)),
        *check_drift(cut_case("1 h", start=MORNING, chemistry=chosen)),
        *compare(cut_case("20 min", start=MORNING, chemistry=chosen)),
    ]
