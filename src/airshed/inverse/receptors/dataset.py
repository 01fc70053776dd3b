"""The Dataset of a receptor's sensitivities by the conventions of CF netCDF, and the contribution of each source.

    contribution of a source = sum over hours h and cells c of  adjoint[h, c] x rate of the source[h, c]

to first order: a cut of the source by a tenth changes the measure by a tenth of it, as long as the cut is small. For
the initial and the boundary concentrations it is the adjoint times the mixing ratio.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.version import __version__
from airshed.inverse.backward import Adjoints
from airshed.inverse.gradient import Gradient
from airshed.inverse.receptors.receptor import MEASURES, Receptor
from airshed.kernels.operators import Operator, OperatorField
from airshed.models.air.boundary.field import face_cells
from airshed.models.air.emissions.inventory import Inventory
from airshed.models.air.emissions.sources import hour_of
from airshed.models.air.model import AirModel
from airshed.process.context import Source

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[np.float64]

INVENTORY: Final = "inventory"

_LEAST: Final = 1e-12
"""Part of the greatest contribution below which one is not reported."""


@dataclass(frozen=True)
class Contribution:
    """What one source gives, in the unit of the measure.

    source   "inventory", "vegetation", "point sources" ..., "air at the beginning", "air at the sides", "air above"
    country, sector  of the inventory, else empty
    species  of the mechanism; of the inventory the pollutant that is reported, such as NOx
    """

    source: str
    country: str
    sector: str
    species: str
    value: float


@dataclass(frozen=True)
class Contributions:
    """All contributions, the greatest first, and maps of those of emission by species (species, lat, lon)."""

    rows: tuple[Contribution, ...]
    maps: Array


def contributions(model: AirModel, adjoints: Adjoints, initial: Array) -> Contributions:
    """Return what all that a run was given contributes; the model is open, and all ranks call this together.

    adjoints  with as many levels of sources as the case emits into
    initial   mixing ratios of the whole area at the beginning of the run (species, level, lat, lon)
    """
    rows = [*_of_sources(model, adjoints), *_of_air(model, adjoints, initial)]
    least = _LEAST * max((abs(row.value) for row in rows), default=0.0)
    ranked = sorted((row for row in rows if abs(row.value) > least), key=lambda row: -abs(row.value))
    return Contributions(tuple(ranked), _maps(model, adjoints))


def _of_sources(model: AirModel, adjoints: Adjoints) -> Iterator[Contribution]:
    for whole, source in zip(model.parts.sources, model.parts.own_sources, strict=True):
        if isinstance(whole, Inventory):
            yield from _of_inventory(model, whole, adjoints.sources)
            continue
        kind = getattr(source, "kind", "processes")
        total = sum(
            np.einsum("klyx,klyx->k", _own(model, source, each), model.subdomain.whole(source.rate(begin)))
            for begin, each in adjoints.sources.items()
        )
        for name, value in zip(source.species, np.broadcast_to(total, len(source.species)), strict=True):
            yield Contribution(kind, "", "", name, float(value))


def _of_inventory(model: AirModel, whole: Inventory, sources: Mapping[float, Array]) -> Iterator[Contribution]:
    for country, part in whole.apart():
        total = np.zeros((len(part.sectors), len(part.pollutants)))
        for begin, each in sources.items():
            total += part.contributions(_own(model, part, each), begin)
        for sector, row in zip(part.sectors, total, strict=True):
            for pollutant, value in zip(part.pollutants, row, strict=True):
                yield Contribution(INVENTORY, country, sector, pollutant, float(value))


def _of_air(model: AirModel, adjoints: Adjoints, initial: Array) -> Iterator[Contribution]:
    lateral, above = np.asarray(model.constants.profile), np.asarray(model.constants.top)
    given = model.forcing.boundary
    at_sides = np.sum(adjoints.boundary_profile * lateral, axis=1)
    if given is not None:
        each = [np.sum(found * given.field.at(seconds), axis=(1, 2)) for seconds, found in adjoints.boundary.items()]
        at_sides = np.sum(each, axis=0)
    worth = {
        "air at the beginning": np.einsum("klyx,klyx->k", adjoints.initial, initial),
        "air at the sides": at_sides,
        "air above": adjoints.top * above,
    }
    for source, values in worth.items():
        for name, value in zip(model.network.names, values, strict=True):
            yield Contribution(source, "", "", name, float(value))


def _maps(model: AirModel, adjoints: Adjoints) -> Array:
    found = np.zeros((len(model.network.names), *model.whole.shape[1:]))
    for source in model.parts.own_sources:
        rows = [model.network.index(name) for name in source.species]
        for begin, each in adjoints.sources.items():
            rate = model.subdomain.whole(source.rate(begin))
            found[rows] += np.einsum("klyx,klyx->kyx", _own(model, source, each), rate)
    return found


def _own(model: AirModel, source: Source, each: Array) -> Array:
    """The adjoints of the species and levels of a source."""
    return each[[model.network.index(name) for name in source.species], : source.levels]


_HOUR: Final = 3600.0
_PPB: Final = 1e9
_TONNE: Final = 1e3  # kg


@dataclass(frozen=True)
class AdjointFields:
    """A time [s] of the backward pass, and by species the sensitivity to mixing ratios then (level, lat, lon)."""

    seconds: float
    fields: Mapping[str, Array]


def sensitivity_dataset(
    found: Gradient, receptor: Receptor, model: AirModel, shares: Contributions, passed: Sequence[AdjointFields]
) -> "xr.Dataset":
    """Return all that was found; see :func:`airshed.inverse.sensitivity`."""
    import xarray as xr

    start, (hours, emission) = model.case.start, per_hour(found.adjoints.sources, model.case.start)
    horizontal = model.whole.dims
    sensitivities = _sensitivities(found, receptor, emission[:, :, 0], horizontal) | _of_faces(found, receptor)
    variables = sensitivities | _shares(shares, receptor, horizontal) | _per_tonne(emission[:, :, 0], receptor, model)
    variables |= _in_time(passed, receptor, horizontal)
    data = {name: xr.DataArray(values, dims=dims, attrs={"units": units, "long_name": text})
            for name, (dims, values, units, text) in variables.items()}  # fmt: skip
    data |= read_variables(found, receptor, model)
    attributes = {
        "Conventions": "CF-1.11", "source": f"Airshed {__version__}", "title": f"{receptor.title}: {model.case.title}",
        "receptor_species": receptor.species, "receptor_place": receptor.place.name, "receptor_level": receptor.level,
        "receptor_lon": list(receptor.place.lon), "receptor_lat": list(receptor.place.lat),
        "receptor_time": [float(receptor.times[0]), float(receptor.times[-1])], "receptor_measure": receptor.measure,
        "receptor_title": receptor.title, "case_title": model.case.title,
        "drawn_level": min(model.case.receptor.layer, len(model.whole.level) - 1),
        "start": str(start), "steps": found.steps, **model.parts.attributes,
    }  # fmt: skip
    times = _times(start, [each.seconds for each in passed])
    coordinates = _coordinates(model, shares, _times(start, hours), times)
    if "boundary_time" in data["boundary_faces"].dims:
        coordinates["boundary_time"] = "boundary_time", _times(start, list(found.adjoints.boundary))
    return xr.Dataset(data, coordinates, attributes)


def per_hour(sources: Mapping[float, Array], start: np.datetime64) -> tuple[list[float], Array]:
    """Return hours UTC by their beginnings [s] since a start, and what a mole released evenly in each is worth.

    sources  [s/mol] of rates in periods of an hour or less, by their beginnings: (species, level, lat, lon)
    returns  per mol, (species, hour, level, lat, lon)
    """
    begins = sorted(sources)
    hours = sorted({hour_of(begin, start) for begin in begins})
    totals = {hour: sum(sources[begin] for begin in begins if hour_of(begin, start) == hour) for hour in hours}
    return hours, np.stack([np.asarray(totals[hour]) / _HOUR for hour in hours], axis=1)


def _sensitivities(found: Gradient, receptor: Receptor, emission: Array, horizontal: tuple[str, str]) -> dict[str, Any]:
    unit, adjoints = MEASURES[receptor.measure], found.adjoints
    per_ratio = "h" if unit.endswith("h") else "1"
    place, by = ("species", *horizontal), f"sensitivity of {receptor.title} by"
    by_rates = (("reaction",), adjoints.reactions, unit, f"{by} relative change of a rate constant")
    return {
        "value": ((), found.value, unit, receptor.title),
        "initial": (("species", "level", *place[1:]), adjoints.initial, per_ratio, f"{by} initial mixing ratio"),
        "emission": (
            ("species", "hour", *place[1:]), emission, f"{unit} mol-1", f"{by} release into the lowest layer in an hour"
        ),
        "boundary": (
            ("species", "level"), adjoints.boundary_profile, per_ratio, f"{by} mixing ratio at the sides of the area"
        ),
        "top": (("species",), adjoints.top, per_ratio, f"{by} mixing ratio above the area"),
        **({} if adjoints.reactions is None else {"rate": by_rates}),
    }  # fmt: skip


def _of_faces(found: Gradient, receptor: Receptor) -> dict[str, Any]:
    """Return the sensitivity to boundary concentrations by face cell, and by instant where there is more than one."""
    per_ratio = "h" if MEASURES[receptor.measure].endswith("h") else "1"
    values, dims = np.stack(list(found.adjoints.boundary.values())), ("species", "level", "face")
    varies = len(values) > 1
    text = f"sensitivity of {receptor.title} by mixing ratio at a lateral face cell of the area"
    return {
        "boundary_faces": (
            ("boundary_time", *dims) if varies else dims,
            values if varies else values[0],
            per_ratio,
            text,
        )
    }


def _per_tonne(emission: Array, receptor: Receptor, model: AirModel) -> dict[str, Any]:
    masses = [species.molar_mass for species in model.network.species]
    moles = np.array([np.nan if mass is None else _TONNE / mass for mass in masses])
    seconds = receptor.times[-1] - model.parts.begin
    values = _PPB * emission.sum(axis=1) * (_HOUR / seconds) * moles[:, None, None]
    unit = "ppb h t-1" if MEASURES[receptor.measure].endswith("h") else "ppb t-1"
    text = f"sensitivity of {receptor.title} by a tonne released into the lowest layer of a cell evenly until then"
    return {"per_tonne": (("species", *model.whole.dims), values, unit, text)}


def _shares(shares: Contributions, receptor: Receptor, horizontal: tuple[str, str]) -> dict[str, Any]:
    unit, rows = MEASURES[receptor.measure], shares.rows
    words: dict[str, Any] = {
        f"source_{name}": (("source",), np.array([getattr(row, name) for row in rows], str), "", f"{name} of a source")
        for name in ("country", "sector", "species")
    }
    values, text = np.array([row.value for row in rows]), f"times the sensitivity of {receptor.title}"
    return words | {
        "emitted": (("species", *horizontal), shares.maps, unit, f"emission of the case {text}"),
        "contribution": (("source",), values, unit, f"a source {text}"),
    }


def _in_time(passed: Sequence[AdjointFields], receptor: Receptor, horizontal: tuple[str, str]) -> dict[str, Any]:
    per_ratio = "h" if MEASURES[receptor.measure].endswith("h") else "1"
    return {
        f"adjoint_{name}": (
            ("time", "level", *horizontal), np.stack([each.fields[name] for each in passed]), per_ratio,
            f"sensitivity of {receptor.title} by a jump of the mixing ratio of {name} at a time",
        )
        for name in (passed[0].fields if passed else ())
    }  # fmt: skip


def _coordinates(model: AirModel, shares: Contributions, hours: Any, times: Any) -> dict[str, Any]:
    grid, network = model.whole, model.network
    found: dict[str, Any] = {
        "species": list(network.names), "reaction": [reaction.label for reaction in network.reactions],
        **grid.axes.dataset_coords(),
        "hour": ("hour", hours, {"long_name": "beginning of an hour"}),
        "source": np.array([row.source for row in shares.rows], str),
        **{f"face_{name}": each.variable for name, each in face_cells(grid).coords.items()},
    }  # fmt: skip
    return found if not len(times) else found | {"time": ("time", times, {"standard_name": "time"})}


def _times(start: np.datetime64, seconds: Sequence[float]) -> npt.NDArray[np.datetime64]:
    return np.asarray(start + (np.array(seconds) * 1e9).astype("timedelta64[ns]"))


def read_variables(found: Gradient, receptor: Receptor, model: AirModel) -> "dict[str, xr.DataArray]":
    """Return `number`, by names of settable numbers, and `relative_...` of fields of cells and the ground."""
    import xarray as xr

    read, unit = found.adjoints.read, MEASURES[receptor.measure]
    if read is None:
        return {}
    names = list(read.numbers)
    units = ("name", [f"{unit} / ({model.settable[name].unit})" for name in names])
    data = {
        "number": xr.DataArray(
            [read.numbers[name] for name in names], {"name": names, "number_units": units}, ["name"],
            attrs={"long_name": f"sensitivity of {receptor.title} by a number of a process"},
        )
    }  # fmt: skip
    for operator in model.parts.processes.operators:
        for field in operator.fields:
            if field.name in read.relative and field.shape in ("cells", "ground"):
                dims, coordinates = _dimensions(operator, field, model)
                text = f"sensitivity of {receptor.title} by a relative change of {field.name}"
                attributes = {"units": unit, "long_name": text}
                relative = read.relative[field.name]
                data[f"relative_{field.name}"] = xr.DataArray(relative, coordinates, dims, attrs=attributes)
    return data


def _dimensions(operator: Operator, field: OperatorField, model: AirModel) -> tuple[list[str], dict[str, list[str]]]:
    horizontal = model.whole.dims
    dims = ["level", *horizontal] if field.shape == "cells" else [*horizontal]
    if not field.species:
        return dims, {}
    own = f"{field.name}_species"
    return [own, *dims], {own: [model.network.names[number] for number in operator.species]}
