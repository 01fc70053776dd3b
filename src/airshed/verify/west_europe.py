"""Checks on the case west-europe: passive tracers on its winds, full chemistry, threads and precision, integrators.

IMEX and Strang splitting share transport and column, but no chemistry: IMEX sweeps over the species of a column, Strang
splitting takes Rosenbrock steps in every cell, from code that another generator writes. Where neither transport nor
sources act both solve the same equations, so that their difference is an error of one of them.
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
"""Share of what chimneys emit that may be clipped. In the one-step formula of Strang splitting a weight of transport is
negative: 4e-13 at a Courant number of 0.4, 2e-17 at 0.1, and nothing with two Euler steps in its place."""

_RATE: Final = 2.0  # [mol/s] of each chimney
_BACKGROUND: Final = 1e-9
_CHIMNEYS: Final = ((6.7, 51.4, 100), (2.35, 48.85, 20), (9.2, 45.5, 20), (0.1, 54.9, 300), (9.9, 45.1, 2500))


def real_case(length: str = "24 h", threads: int = 1, **sections: Mapping[str, Any]) -> Case:
    """Return west-europe with passive tracers: 1 ppb of TRACER everywhere and beyond the edges, chimneys of TRACER2."""
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
    """Return how uniform a uniform tracer stays at every step, how far the air drifts, and if plumes stay positive."""
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
    """Return the greatest relative deviation of the air that the model has advanced from the air that was given."""
    model = simulation.model
    advanced = model.layout.unpack(model.stepper.state.air) / model.grid.cell_volume
    return float(np.abs(advanced / simulation["air_density"].values - 1.0).max())


def check_budget(case: Case) -> list[Figure]:
    """Return how well budgets with emission, deposition, in- and outflow close, and if they are what was asked for.

    The amounts at both ends are counted here from mixing ratios and air; emission is known from the case.
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
    """Return how much of a species there is in the model's air [mol]."""
    air = simulation.model.layout.unpack(simulation.model.stepper.state.air)
    return float(np.sum(simulation[species].values * air))


# The full chemistry on a cut of the case west-europe: budgets of nitrogen and sulphur, and the iteration's drift.


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


# The same results on any number of threads, and close ones in single precision.


COMPARED: Final = ("O3", "NO2", "CO", "HNO3", "SO2", "HCHO")
"""Species that single precision is compared for: abundant ones of each kind."""


State = dict[str, Array]
"""Mixing ratios (level, lat, lon) by species."""

LIMIT_OF_SINGLE: Final = {"imex": 1e-5, "strang": 1e-4}
"""A few times what was first found; Strang splitting may take other steps, within a tolerance of 1e-2 for each."""


def final_state(case: Case) -> State:
    """Run a case and return the mixing ratios of all species at its end, (level, lat, lon)."""
    with Simulation(case) as simulation:
        simulation.run()
        return dict(zip(simulation.model.network.names, simulation.model.mixing_ratios(), strict=True))


def differing(one: State, other: State) -> int:
    """Return in how many numbers two states differ in any bit."""
    return sum(int(np.count_nonzero(one[name] != other[name])) for name in one)


def distance(one: State, other: State, species: str) -> float:
    """Return the greatest difference of a species over its greatest mixing ratio."""
    return float(np.abs(one[species] - other[species]).max() / np.abs(one[species]).max())


def with_settings(case: Case, **sections: dict[str, Any]) -> Case:
    """Return a case with some settings of some sections changed."""
    data = case.to_dict()
    changed = {name: {**data[name], **section} for name, section in sections.items()}
    return Case.from_dict(data | changed, base=case.base)


def compare(case: Case, threads: int = 2) -> list[Figure]:
    """Return the numbers that differ between 1 and more threads, and the distance of single from double precision."""
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
    """Return what :func:`compare` finds in a part of west-europe by IMEX."""
    return compare(cut_case(length))


# Integrators against each other and small steps, and Strang splitting by the checks that IMEX has to pass.


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
