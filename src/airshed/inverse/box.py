"""Sensitivities of boxes: of one species at some time to rate constants, initial values, emission and deposition.

Everything is relative: with c the species at the time, d ln c / d ln k_r of each rate constant k_r, whatever it depends
on, over the whole time; d ln c / d ln c_s(start) of each species s; of the emission and the deposition of a species, as
a factor on them over the whole time. Exact for the steps that were accepted, whose lengths count as given.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed, suggestion
from airshed.core.units import quantity
from airshed.inverse.box_backward import BoxAdjoints, backward
from airshed.inverse.box_ranking import KINDS
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.box.conditions import BoxConditions
from airshed.models.box.model import BoxModel
from airshed.models.box.run import Conditions, States, prepare

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

Array = npt.NDArray[np.float64]


def box_sensitivity(
    mechanism: "ReactionNetwork | str | Path", conditions: Conditions, of: str, states: States | None = None, *,
    at: str | None = None, threads: int = 1, allow_code: bool = False,
) -> "xr.Dataset":  # fmt: skip
    """Return how a species of a box, or of many, depends on all that the box is given.

        found = box_sensitivity("emep", "cases/emep-box/conditions.toml", "O3", at="36 h")
        found.rate.sortby(abs(found.rate))[-20:]

    of       the species;  at  local time from midnight of the first day, by default the end
    returns  value       [molecules cm-3] of the species then
             rate        (reaction,)   d ln value / d ln k
             initial     (species,)    d ln value / d ln of the concentration at the start
             initial_absolute          d value / d of that concentration, of species that there are none of, too
             emission    (emitted,)    by a factor on all of the emission of a species;  deposition  (deposited,), not
                                       by gauss-seidel
             each with `cell` behind where there are many boxes
    Raises what :func:`airshed.box` raises, CaseError in single precision and for many boxes by gauss-seidel, DataError
    where value is 0.
    """
    network = mechanism if isinstance(mechanism, ReactionNetwork) else load_mechanism(mechanism, allow_code=allow_code)
    if network.sums:
        raise CaseError(
            f"gradient of {of}: {listed(sorted(network.sums))} of {network.name} is a sum of species, which a gradient"
            " would take for a species of its own; write each such reaction once for each species of the sum"
        )
    run = prepare(network, conditions, states, threads, allow_code=allow_code)
    name, seconds = _target(run.model, of, at)
    if seconds < _end(run.model.conditions):
        shorter = _until(run.model.conditions, seconds)
        run.simulation.close()
        run = prepare(network, shorter, states, threads, allow_code=allow_code)
    with run.simulation:
        model = run.model
        model.record()
        run.simulation.run()
        species = model.network.index(name)
        return _dataset(model, name, model.concentrations()[species].copy(), backward(model, species))


def _end(conditions: BoxConditions) -> float:
    return float(conditions.time.start.value + conditions.time.length.value)


def _target(model: BoxModel, of: str, at: str | None) -> tuple[str, float]:
    """Return the species, and the time [s since local midnight of the first day]."""
    names = {name.casefold(): name for name in model.network.names}
    if of.casefold() not in names:
        raise CaseError(f"gradient of {of}: no species of {model.network.name}; {suggestion(of, model.network.names)}")
    end = _end(model.conditions)
    time = end if at is None else quantity(at, ("s",), where="at").value
    if not model.conditions.time.start.value < time <= end:
        span = f"{model.conditions.time.start.text} and {end / 3600.0:g} h"
        raise CaseError(f"at = {at!r} is not between {span}: it is a local time from midnight of the first day")
    return names[of.casefold()], time


def _until(conditions: BoxConditions, at: float) -> BoxConditions:
    """Return conditions that end at a time."""
    data = conditions.to_dict()
    data["time"] |= {"length": f"{at - conditions.time.start.value!r} s"}
    return BoxConditions.from_dict(data, conditions.folder)


def _dataset(model: BoxModel, species: str, end: Array, found: BoxAdjoints) -> "xr.Dataset":
    import xarray as xr

    time = _end(model.conditions)
    if not (end > 0.0).any():
        raise DataError(f"there is no {species} at t = {time:g} s: nothing is relative to it")
    network, forcing = model.network, model.forcing
    names = np.array(network.names, object)
    coordinates: dict[str, Any] = {
        "reaction": [reaction.label for reaction in network.reactions], "species": list(network.names),
        "equation": ("reaction", [reaction.text or reaction.label for reaction in network.reactions]),
        "emitted": list(names[list(forcing.emitted)]), "deposited": list(names[list(forcing.deposited)]),
    }  # fmt: skip
    many = ("cell",) if model.many else ()
    relative = {
        "rate": found.rates, "initial": found.initial * found.start, "emission": found.emission,
        "deposition": found.deposition,
    }  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {name: np.where(end > 0.0, each / end, np.nan) for name, each in relative.items() if each is not None}
    variables = {
        name: _variable((KINDS[name][0], *many), value, f"d ln {species} / d ln {KINDS[name][1]}")
        for name, value in values.items()
    }
    change = f"d {species} / d value at the start"
    variables["initial_absolute"] = _variable(("species", *many), found.initial, change)
    variables["value"] = _variable(many, end, f"{species} at the time", "molecules cm-3")
    attributes = {"title": model.conditions.title, "mechanism": network.name, "gradient": species,
                  "time": time, "steps": model.cells.steps}  # fmt: skip
    return xr.Dataset(variables, coordinates, attributes)


def _variable(dimensions: tuple[str, ...], values: Array, text: str, unit: str = "1") -> "xr.Variable":
    import xarray as xr

    shaped = values if "cell" in dimensions else values[..., 0]
    return xr.Variable(dimensions, shaped, {"units": unit, "long_name": text})
