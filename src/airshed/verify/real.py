"""Passive tracers on the real, hourly changing winds of the case west-europe."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure

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
    for name, section in sections.items():
        chosen[name] = {**chosen.get(name, {}), **section}
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
