"""Dataset of the sensitivities of a receptor by the CF conventions, and the contribution of each source.

    contribution of a source = sum over hours h and cells c of  adjoint[h, c] x rate of the source[h, c]

Contributions are first-order estimates: a cut of the source by 10 % changes the receptor by 10 % of the contribution,
if the response is linear. Those of the initial and boundary concentrations are the adjoint times the mixing ratio.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.version import __version__
from airshed.inverse.backward import Adjoints
from airshed.inverse.gradient import Gradient
from airshed.inverse.receptors.receptor import MEASURES, Receptor
from airshed.kernels.boundary import FaceCells, sum_of_cells
from airshed.models.air.boundary.field import LateralBoundary, face_cells
from airshed.models.air.emissions.inventory import Inventory
from airshed.models.air.emissions.sources import hour_of
from airshed.models.air.emissions.stacks import StackEmissions
from airshed.models.air.model import AirModel
from airshed.process.context import Source

if TYPE_CHECKING:
    import xarray as xr


INVENTORY: Final = "inventory"

_LEAST: Final = 1e-12
"""Minimum contribution to be reported, relative to the largest one."""


@dataclass(frozen=True)
class Contribution:
    """Contribution of one source, in the unit of the receptor.

    source   "inventory", "vegetation", "point sources" ..., "air at the beginning", "air at the sides", "air above"
    country, sector  of the inventory, sector also of stacks, otherwise empty
    species  species of the mechanism; for the inventory the reported pollutant, such as NOx
    """

    source: str
    country: str
    sector: str
    species: str
    value: float


@dataclass(frozen=True)
class Contributions:
    """All contributions, the largest first, and those of emission and of the lateral boundary by location and time.

    maps      of emission (species, lat, lon)
    periods   of emission by the beginning [s] of its period (species,)
    sides     of the air at each lateral side (species,)
    reported  pollutant of the inventory of which a species is a part
    """

    rows: tuple[Contribution, ...]
    maps: Array
    periods: Mapping[float, Array]
    sides: Mapping[str, Array]
    reported: Mapping[str, str]


def contributions(model: AirModel, adjoints: Adjoints, initial: Array) -> Contributions:
    """Return the contributions of all sources of an open model; all ranks call this together.

    adjoints  sensitivities, with all levels into which the case emits
    initial   mixing ratios of the whole area at the beginning of the run (species, level, lat, lon)
    """
    names, rows = model.network.names, list[Contribution]()
    maps = np.zeros((len(names), *model.whole.shape[1:]))
    periods = {begin: np.zeros(len(names)) for begin in sorted(adjoints.sources)}
    reported: dict[str, str] = {}
    for whole, source in zip(model.parts.sources, model.parts.own_sources, strict=True):
        # Multiply the adjoints of the species and levels of this source by its emission in each period.
        own = [model.network.index(name) for name in source.species]
        by_period = {begin: each[own, : source.levels] for begin, each in adjoints.sources.items()}
        parts = _by_sector(source)
        totals = {sector: np.zeros(len(own)) for sector in parts}
        for begin, adjoint in by_period.items():
            for sector, part in parts.items():
                rate = model.subdomain.whole(part.rate(begin))
                maps[own] += np.einsum("klyx,klyx->kyx", adjoint, rate)
                total = np.einsum("klyx,klyx->k", adjoint, rate)
                totals[sector] = totals[sector] + total
                periods[begin][own] += total
        if isinstance(whole, Inventory):
            reported |= whole.reported
            rows += _of_inventory(model, whole, adjoints.sources)
        else:
            kind = getattr(source, "kind", "processes")
            for sector, total in totals.items():
                of_species = zip(source.species, total.tolist(), strict=True)
                rows += [Contribution(kind, "", sector, *each) for each in of_species]

    # Add the initial air, the lateral boundary, and the air above.
    at_sides = np.sum(adjoints.boundary_profile * np.asarray(model.constants.profile), axis=1)
    if isinstance(given := model.forcing.boundary, LateralBoundary):
        each_time = [np.sum(found * given.field.at(when), axis=(1, 2)) for when, found in adjoints.boundary.items()]
        at_sides = sum_of_cells(np.sum(each_time, axis=0), len(names))
    sides = _by_side(model, adjoints)
    for source_name, values in (
        ("air at the beginning", np.einsum("klyx,klyx->k", adjoints.initial, initial)),
        ("air at the sides", at_sides),
        ("air above", adjoints.top * np.asarray(model.constants.top)),
    ):
        rows += [Contribution(source_name, "", "", *each) for each in zip(names, values.tolist(), strict=True)]

    least = _LEAST * max((abs(row.value) for row in rows), default=0.0)
    ranked = sorted((row for row in rows if abs(row.value) > least), key=lambda row: -abs(row.value))
    return Contributions(tuple(ranked), maps, periods, sides, reported)


def _by_side(model: AirModel, adjoints: Adjoints) -> dict[str, Array]:
    """Return the contribution of the air at each lateral side by species (species,)."""
    given, profile = model.forcing.boundary, np.asarray(model.constants.profile)[:, :, None]
    count = len(model.network.names)
    faces = np.zeros((count, FaceCells(*model.whole.shape[1:]).count))
    for when, found in adjoints.boundary.items():
        outside = given.field.at(when) if isinstance(given, LateralBoundary) else profile
        faces += sum_of_cells(np.sum(found * outside, axis=1), count)
    return {side: faces[:, place].sum(axis=1) for side, place in FaceCells(*model.whole.shape[1:]).places.items()}


def _by_sector(source: Source) -> dict[str, Source]:
    """Return the parts of stacks by sector; another source is one part."""
    if isinstance(source, StackEmissions):
        return {sector: source.selected([sector]) for sector in source.sectors}
    return {getattr(source, "sector", ""): source}


def _of_inventory(model: AirModel, whole: Inventory, sources: Mapping[float, Array]) -> Iterator[Contribution]:
    for country, part in whole.apart():
        own = [model.network.index(name) for name in part.species]
        total = np.zeros((len(part.sectors), len(part.pollutants)))
        for begin, each in sources.items():
            total += part.contributions(each[own, : part.levels], begin)
        for sector, row in zip(part.sectors, total.tolist(), strict=True):
            for pollutant, value in zip(part.pollutants, row, strict=True):
                yield Contribution(INVENTORY, country, sector, pollutant, value)


_HOUR: Final = 3600.0
_PPB: Final = 1e9
_TONNE: Final = 1e3  # kg


@dataclass(frozen=True)
class AdjointFields:
    """Sensitivities to mixing ratios (level, lat, lon) by species, at one time [s] of the backward pass."""

    seconds: float
    fields: Mapping[str, Array]


def sensitivity_dataset(
    found: Gradient, receptor: Receptor, model: AirModel, shares: Contributions, passed: Sequence[AdjointFields]
) -> "xr.Dataset":
    """Return the Dataset of a receptor; see :func:`airshed.inverse.sensitivity`."""
    import xarray as xr

    start, grid, network = model.case.start, model.whole, model.network
    hours, emission = per_hour(found.adjoints.sources, start)
    variables = _sensitivities(found, receptor, model, emission[:, :, 0]) | _contributions(
        shares, passed, receptor, model
    )
    data: dict[str, Any] = {
        name: (dims, values, {"units": units, "long_name": text})
        for name, (dims, values, units, text) in variables.items()
    }
    data |= read_variables(found, receptor, model)
    attributes = {
        "Conventions": "CF-1.11", "source": f"Airshed {__version__}", "title": f"{receptor.title}: {model.case.title}",
        "receptor_species": receptor.species, "receptor_place": receptor.place.name, "receptor_level": receptor.level,
        "receptor_lon": list(receptor.place.lon), "receptor_lat": list(receptor.place.lat),
        "receptor_time": [float(receptor.times[0]), float(receptor.times[-1])], "receptor_measure": receptor.measure,
        "receptor_title": receptor.title, "case_title": model.case.title,
        "drawn_level": min(model.case.receptor.map_layer, len(grid.level) - 1),
        "start": str(start), "steps": found.steps, **model.parts.attributes,
    }  # fmt: skip
    coordinates: dict[str, Any] = {
        "species": list(network.names), "reaction": [reaction.label for reaction in network.reactions],
        **grid.axes.dataset_coords(),
        "hour": ("hour", _times(start, hours), {"long_name": "beginning of an hour"}),
        "source": np.array([row.source for row in shares.rows], str), "side": list(shares.sides),
        "pollutant": ("species", [shares.reported.get(name, "") for name in network.names]),
        **{f"face_{name}": each.variable for name, each in face_cells(grid).coords.items()},
    }  # fmt: skip
    if passed:
        coordinates["time"] = "time", _times(start, [each.seconds for each in passed]), {"standard_name": "time"}
    if "boundary_time" in data["boundary_faces"][0]:
        coordinates["boundary_time"] = "boundary_time", _times(start, list(found.adjoints.boundary))
    return xr.Dataset(data, coordinates, attributes)


def _times(start: np.datetime64, seconds: Sequence[float]) -> npt.NDArray[np.datetime64]:
    return np.asarray(start + (np.array(seconds) * 1e9).astype("timedelta64[ns]"))


def per_hour(sources: Mapping[float, Array], start: np.datetime64) -> tuple[list[float], Array]:
    """Return hours UTC by their beginnings [s] since a start, and the sensitivity to one mole released in each hour.

    sources  sensitivities [s/mol] to rates in periods of at most an hour, by their beginnings:
             (species, level, lat, lon)
    returns  sensitivities per mol, (species, hour, level, lat, lon)
    """
    begins = sorted(sources)
    hours = sorted({hour_of(begin, start) for begin in begins})
    totals = {hour: sum(sources[begin] for begin in begins if hour_of(begin, start) == hour) for hour in hours}
    return hours, np.stack([np.asarray(totals[hour]) / _HOUR for hour in hours], axis=1)


def _sums_by_hour(periods: Mapping[float, Array], start: np.datetime64) -> Array:
    """Return sums by hour UTC (species, hour) of values by the beginnings of periods, in the hours of `per_hour`."""
    hours = sorted({hour_of(begin, start) for begin in periods})
    sums = {hour: sum(values for begin, values in periods.items() if hour_of(begin, start) == hour) for hour in hours}
    return np.stack([np.asarray(sums[hour]) for hour in hours], axis=1)


Variable = tuple[tuple[str, ...], Any, str, str]
"""Dimensions, values, units and text."""


def _sensitivities(found: Gradient, receptor: Receptor, model: AirModel, emission: Array) -> dict[str, Variable]:
    """Return the value and its derivatives by fields; emission: per mol into the lowest layer, by hour."""
    unit, adjoints = MEASURES[receptor.measure], found.adjoints
    per_ratio, is_sum = ("h", True) if unit.endswith("h") else ("1", False)
    horizontal, to = model.whole.dims, f"sensitivity of {receptor.title} to"

    # Lateral face cells have a dimension of time if there is more than one instant.
    faces = sum_of_cells(np.stack(list(adjoints.boundary.values())), len(model.network.species), axis=1)
    instants = ("boundary_time",) if len(faces) > 1 else ()

    # Per tonne [ppb], released at a constant rate from the beginning to the last time of the receptor.
    masses = [species.molar_mass for species in model.network.species]
    moles = np.array([np.nan if mass is None else _TONNE / mass for mass in masses])
    seconds = receptor.times[-1] - model.parts.begin
    per_tonne = _PPB * emission.sum(axis=1) * (_HOUR / seconds) * moles[:, None, None]

    variables: dict[str, Variable] = {
        "value": ((), found.value, unit, receptor.title),
        "initial": (("species", "level", *horizontal), adjoints.initial, per_ratio, f"{to} the initial mixing ratio"),
        "emission": (
            ("species", "hour", *horizontal), emission, f"{unit} mol-1",
            f"{to} a release into the lowest layer in an hour",
        ),
        "boundary": (
            ("species", "level"), adjoints.boundary_profile, per_ratio, f"{to} the mixing ratio at the sides"
        ),
        "top": (("species",), adjoints.top, per_ratio, f"{to} the mixing ratio above the area"),
        "boundary_faces": (
            (*instants, "species", "level", "face"), faces if instants else faces[0], per_ratio,
            f"{to} the mixing ratio at a lateral face cell of the area",
        ),
        "per_tonne": (
            ("species", *horizontal), per_tonne, "ppb h t-1" if is_sum else "ppb t-1",
            f"{to} a tonne released into the lowest layer of a cell at a constant rate until then",
        ),
    }  # fmt: skip
    if adjoints.reactions is not None:
        variables["rate"] = ("reaction",), adjoints.reactions, unit, f"{to} a relative change of a rate constant"
    return variables


def _contributions(
    shares: Contributions, passed: Sequence[AdjointFields], receptor: Receptor, model: AirModel
) -> dict[str, Variable]:
    """Return the contribution of each source, maps of emission, and the adjoint fields over time."""
    unit, horizontal, rows = MEASURES[receptor.measure], model.whole.dims, shares.rows
    text = f"times the sensitivity of {receptor.title}"
    variables: dict[str, Variable] = {
        f"source_{name}": (("source",), np.array([getattr(row, name) for row in rows], str), "", f"{name} of a source")
        for name in ("country", "sector", "species")
    }
    variables["emission_contribution"] = ("species", *horizontal), shares.maps, unit, f"emission of the case {text}"
    by_hour = _sums_by_hour(shares.periods, model.case.start)
    variables["hour_contribution"] = ("species", "hour"), by_hour, unit, f"emission of an hour {text}"
    by_side = np.stack(list(shares.sides.values()), axis=1)
    variables["side_contribution"] = ("species", "side"), by_side, unit, f"air at a side of the area {text}"
    variables["contribution"] = ("source",), np.array([row.value for row in rows]), unit, f"a source {text}"
    for name in passed[0].fields if passed else ():
        variables[f"adjoint_{name}"] = (
            ("time", "level", *horizontal), np.stack([each.fields[name] for each in passed]),
            "h" if unit.endswith("h") else "1",
            f"sensitivity of {receptor.title} to a jump of the mixing ratio of {name} at a time",
        )  # fmt: skip
    return variables


def read_variables(found: Gradient, receptor: Receptor, model: AirModel) -> "dict[str, xr.DataArray]":
    """Return `process_setting` by name, and `relative_...` for fields of cells and of the ground."""
    import xarray as xr

    read, unit, horizontal = found.adjoints.read, MEASURES[receptor.measure], model.whole.dims
    if read is None:
        return {}
    names = list(read.numbers)
    units = ("setting", [f"{unit} / ({model.settable[name].unit})" for name in names])
    text = f"sensitivity of {receptor.title} to"
    data = {
        "process_setting": xr.DataArray(
            [read.numbers[name] for name in names], {"setting": names, "setting_units": units}, ["setting"],
            attrs={"long_name": f"{text} a setting of a process"},
        )
    }  # fmt: skip
    for operator in model.parts.processes.operators:
        for field in operator.fields:
            if field.name not in read.relative or field.shape not in ("cells", "ground"):
                continue
            dims = ["level", *horizontal] if field.shape == "cells" else [*horizontal]
            coordinates: dict[str, list[str]] = {}
            if field.species:
                dims = [own := f"{field.name}_species", *dims]
                coordinates[own] = [model.network.names[number] for number in operator.species]
            attributes = {"units": unit, "long_name": f"{text} a relative change of {field.name}"}
            relative = read.relative[field.name]
            data[f"relative_{field.name}"] = xr.DataArray(relative, coordinates, dims, attrs=attributes)
    return data
