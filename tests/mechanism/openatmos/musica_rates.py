"""Rate constants from musica: every reaction returns its reactants, and produces its own tracer.

With all concentrations at 1 mol m-3 each tracer grows at the constant rate k [mol, m3, s], times the fixed species. Any
method of integration is then exact except for rounding.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.constants import GAS_CONSTANT, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.mechanism import ReactionNetwork, rates
from airshed.mechanism.openatmos.units import MOLECULES_PER_MOLE

Air = dict[str, np.ndarray]

STEP = 1e-9  # [s]: the effect of rounding is far below 1 mol m-3


def tracer(number: int) -> str:
    return f"tracer {number}"


def with_tracers(document: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return an OpenAtmos v1 document with tracers, and the number of tracers."""
    reactions, count = [], 0
    for reaction in document["reactions"]:
        changed = dict(reaction)
        key = {"SURFACE": "gas-phase species", "EMISSION": None}.get(reaction["type"], "reactants")
        used = reaction[key] if key else []
        back = [{"name": used}] if isinstance(used, str) else list(used)
        sides = {"SURFACE": ["gas-phase products"], "BRANCHED_NO_RO2": ["alkoxy products", "nitrate products"]}
        for side in sides.get(reaction["type"], ["products"]):
            changed[side] = [*back, {"name": tracer(count)}]
            count += 1
        reactions.append(changed)
    tracers = [{"name": tracer(number)} for number in range(count)]
    gas = next(phase for phase in document["phases"] if phase["name"] == "gas")
    phase = {**gas, "species": [*gas["species"], *tracers]}
    return {**document, "species": [*document["species"], *tracers], "phases": [phase], "reactions": reactions}, count


def camp_with_tracers(folder: Path, target: Path) -> int:
    """Write a Camp mechanism with tracers; return the number of tracers."""
    count, data = 0, []
    for file in json.loads((folder / "config.json").read_text())["camp-files"]:
        data.extend(json.loads((folder / file).read_text())["camp-data"])
    for mechanism in data:
        for reaction in mechanism.get("reactions", []):
            if reaction["type"] == "EMISSION":
                reaction["species"] = tracer(count)
            elif reaction["type"] == "SURFACE":
                reaction["gas-phase products"] = {reaction["gas-phase reactant"]: {}, tracer(count): {}}
            else:
                back = {name: {"yield": each.get("qty", 1)} for name, each in reaction["reactants"].items()}
                reaction["products"] = {**back, tracer(count): {}}
            count += 1
    data[:0] = [{"type": "CHEM_SPEC", "name": tracer(number)} for number in range(count)]
    (target / "config.json").write_text(json.dumps({"camp-files": ["all.json"]}))
    (target / "all.json").write_text(json.dumps({"camp-data": data}))
    return count


def musica_rates(path: Path, count: int, air: Air, parameters: dict[str, float]) -> np.ndarray:
    """Return the rates (tracer, cell) [mol m-3 s-1] at 1 mol m-3 of every variable species of a traced mechanism."""
    from musica.mechanism_configuration import parse
    from musica.micm import MICM, RosenbrockSolverParameters

    solver = MICM(mechanism=parse(str(path)))
    solver.set_solver_parameters(RosenbrockSolverParameters(h_start=STEP))
    cells = len(air["TEMP"])
    state = solver.create_state(cells)
    state.set_conditions(list(air["TEMP"]), list(air["PRESS"]))
    tracers = {tracer(number) for number in range(count)}
    state.set_concentrations({name: [float(name not in tracers)] * cells for name in state.get_species_ordering()})
    known = state.get_user_defined_rate_parameters()
    state.set_user_defined_rate_parameters(
        {name: list(np.broadcast_to(parameters[name], cells).astype(float)) for name in known}
    )
    result = solver.solve(state, STEP)
    made = state.get_concentrations()
    return np.array([made[tracer(number)] for number in range(count)]) / result.stats.final_time


def environment(temperature: npt.ArrayLike, pressure: npt.ArrayLike) -> Air:
    """Return the air with MICM's own air density."""
    temperature, pressure = np.asarray(temperature, float), np.asarray(pressure, float)
    air = MOLECULES_PER_MOLE * pressure / (GAS_CONSTANT * temperature)
    air_shares = {"O2": OXYGEN_FRACTION * air, "N2": NITROGEN_FRACTION * air, "H2O": 0.01 * air}
    return {"TEMP": temperature, "PRESS": pressure, "M": air, **air_shares}


def orders(network: ReactionNetwork) -> np.ndarray:
    """Return the number of variable reactants of each reaction."""
    return np.array([len(indices) for indices in network.reactant_indices])


def airshed_rates(network: ReactionNetwork, air: Air, parameters: dict[str, float]) -> np.ndarray:
    """Return the same from a network, parameters in molecules, cm3 and s."""
    return rates(network, {**air, **parameters}) * MOLECULES_PER_MOLE ** (orders(network)[:, np.newaxis] - 1.0)
