"""Mixing ratios from files of other models: at points of the grid, in the species of the mechanism.

A variable is bilinear between the points of its file and linear in time. In the vertical it is linear in the logarithm
of pressure, as the profiles are: then a profile and a file with its values agree, and no new extreme appears. Layers of
files are as thick as those of the model or thicker, so that a mean over layers would conserve no more mass. Below the
lowest and above the highest level, the values there hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT
from airshed.core.data import conversion, without_round_off
from airshed.core.errors import CaseError, DataError
from airshed.core.text import counted, listed
from airshed.io.model_levels import SURFACE_PRESSURES, Levels, pressure_fields
from airshed.io.model_output import ModelOutput, PointReader
from airshed.models.air.boundary.source_map import (
    Mixture,
    RatioConversion,
    SourceMap,
    conversion_of,
    described,
    layout_of,
    mixtures,
)
from airshed.models.air.species_map import BoundaryMap

_NANOSECOND: Final = np.timedelta64(1, "ns")
_FAR: Final = 0.1
"""Distance in ln p, about 800 m, from which layers beyond the levels are reported."""
_SCALE_HEIGHT: Final = 8e3
"""Height [m] that is one in ln p."""
_STORED: Final = 3
"""Number of records per variable that are stored at the points."""


class Record(NamedTuple):
    """Time record of a file, by the number of the file."""

    file: int
    number: int


@dataclass(frozen=True, eq=False)
class Air:
    """Air of the model's layers at points: (level, ...).

    pressure [Pa], temperature [K], surface_pressure (...) [Pa], heights (level,) above ground [m]
    """

    pressure: Array
    temperature: Array
    surface_pressure: Array
    heights: Array


class OtherModel:
    """Files of another model, and the species that they give.

    Parameters
    ----------
    outputs : sequence of ModelOutput
        Files; of a time that several hold the last file counts. Pressures may be in another file than species.
    masses : mapping
        Molar mass by species of the mechanism [kg/mol]; None for unknown ones.
    profile : BoundaryMap
        Species as sums of columns of the profile.
    own : SourceMap
        Map of the user.
    repeats : bool
        Whether the year of the files stands for every year.
    key : str
        Setting that names the files, for messages.

    Attributes
    ----------
    mixtures : mapping
        Variables of each species that the files give.

    Raises
    ------
    CaseError, DataError
        For files without any species, and for a map or a unit that does not fit.
    """

    def __init__(
        self, outputs: Sequence[ModelOutput], masses: Mapping[str, float | None], profile: BoundaryMap,
        own: SourceMap, *, repeats: bool = False, key: str = "boundary.files",
    ) -> None:  # fmt: skip
        self.outputs, self.key, self._repeats = tuple(outputs), key, repeats
        self._records = self._found_records()
        names = tuple(self._records)
        attributes = {key: value for each in outputs for key, value in each.dataset.attrs.items()}
        self.layout = layout_of(names, attributes)
        short = {self.layout.short(name): name for name in names}
        self.mixtures: Mapping[str, Mixture] = mixtures(short, masses, profile, self.layout, own)
        if not self.mixtures:
            raise CaseError(
                f"{key}: no variable of {self.files} is a species of the mechanism; "
                + (f"with levels it has {listed(names)}: name them in boundary.map" if names else "none has levels")
            )
        self.conversions = {name: self._conversion(name, masses, own) for name in self.variables}

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables that the species need."""
        return tuple(dict.fromkeys(name for each in self.mixtures.values() for name in each.variables))

    @property
    def files(self) -> str:
        """Names of the files, for messages."""
        names = [each.where for each in self.outputs]
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    @property
    def title(self) -> str:
        """Names of the files without their folders, and the layout."""
        names = [Path(each.where).name for each in self.outputs]
        files = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        return f"{files} ({self.layout.name})" if self.layout.name else files

    def rest(self, profile: BoundaryMap) -> BoundaryMap:
        """Return the part of clean air that the files leave out: 0 for a species that they give completely."""
        parts = {name: each.rest for name, each in self.mixtures.items() if each.rest}
        complete = set(self.mixtures) - set(parts)
        return replace(
            profile,
            zero=(profile.zero - set(parts)) | complete,
            uniform={name: each for name, each in profile.uniform.items() if name not in self.mixtures},
            profile={**{name: each for name, each in profile.profile.items() if name not in complete}, **parts},
        )

    def origin(self, name: str) -> str:
        """Return the source of a species, for the summary."""
        return f"read: {described(self.mixtures[name])} of {self.title}"

    def _found_records(self) -> dict[str, list[tuple[np.datetime64 | None, Record]]]:
        """Return the records of each variable in the order of their times; None is the time of one without time."""
        found: dict[str, dict[np.datetime64 | None, Record]] = {}
        for number, output in enumerate(self.outputs):
            for name in output.names:
                timed = output.times is not None and output.time_dim in output.dataset.variables[name].dims
                times = output.times if timed and output.times is not None else [None]
                found.setdefault(name, {}).update({when: Record(number, n) for n, when in enumerate(times)})
        return {
            name: sorted(records.items(), key=lambda each: (each[0] is not None, each[0]))
            for name, records in found.items()
        }

    def _conversion(self, name: str, masses: Mapping[str, float | None], own: SourceMap) -> RatioConversion:
        """Return the conversion of a variable to mixing ratios."""
        short = self.layout.short(name)
        folded = {each.casefold(): mass for each, mass in masses.items()}
        whole = Mixture({name: 1.0}, {})
        single = [each for each, mixture in self.mixtures.items() if mixture == whole]
        mass = own.molar_mass.get(short) or self.layout.molar_mass.get(short) or folded.get(short.casefold())
        mass = mass or (masses[single[0]] if len(single) == 1 else None)
        output = self.outputs[self._records[name][0][1].file]
        carbon = own.carbon.get(short) or self.layout.carbon.get(short)
        unit = own.units.get(short, output.unit(name))
        return conversion_of(unit, f"{output.where}: {name}", molar_mass=mass, carbon=carbon)

    # Times.

    def times(self, name: str) -> NDArray[np.datetime64]:
        """Return the times of a variable; none for one without time."""
        return np.array([when for when, _ in self._records[name] if when is not None], "datetime64[ns]")

    @property
    def interval(self) -> float:
        """Shortest time between two records [s]; infinite for files without time."""
        steps = [np.diff(self.times(name)).min() / np.timedelta64(1, "s") for name in self.variables
                 if self.times(name).size > 1]  # fmt: skip
        return float(min(steps, default=np.inf))

    def check_covers(self, start: np.datetime64, end: np.datetime64) -> None:
        """Raise CaseError for variables whose records do not cover a period; the last one holds for its interval."""
        for name in self.variables:
            times = self.times(name)
            if not times.size:
                continue
            if self._repeats:
                if times[-1] - times[0] > np.timedelta64(366, "D"):
                    raise CaseError(f'{self.key}: {name} has more than a year; leave out boundary.repeat = "year"')
                continue
            interval = times[-1] - times[-2] if times.size > 1 else 0 * _NANOSECOND
            if times[0] > start or times[-1] + interval < end:
                raise CaseError(
                    f"{self.key}: {name} of {self.files} has times from {times[0]:.16} to {times[-1]:.16}; the case "
                    f'needs {start:.16} to {end:.16}. Give all files, or boundary.repeat = "year" for those of another '
                    "year"
                )

    def check_places(self, lon: Array, lat: Array) -> None:
        """Raise DataError for points [degrees] outside a file."""
        for output in self.outputs:
            output.nodes.check(lon, lat, output.where)

    def around(self, name: str, when: np.datetime64) -> tuple[Record, Record, float]:
        """Return the records before and after a time, and the weight of the second one."""
        records, times = self._records[name], self.times(name)
        if not times.size:
            return records[0][1], records[0][1], 0.0
        numbers = np.arange(times.size)
        if self._repeats:  # the year of the files in the years before, of and after the time
            years = int((when.astype("datetime64[Y]") - times[0].astype("datetime64[Y]")).astype(np.int64))
            shifted = [_in_year(times, years + turn) for turn in (-1, 0, 1)]
            times, numbers = np.concatenate(shifted), np.tile(numbers, 3)
        after = int(np.clip(np.searchsorted(times, when, side="right"), 0, times.size - 1))
        before = max(after - 1, 0) if when < times[after] else after
        length = (times[after] - times[before]) / _NANOSECOND
        share = (when - times[before]) / _NANOSECOND / length if length > 0.0 else 0.0
        offset = len(records) - self.times(name).size
        first, second = (records[offset + int(numbers[each])][1] for each in (before, after))
        return first, second, float(np.clip(share, 0.0, 1.0))

    def at_time(self, names: Sequence[str], record: Record, own: int) -> tuple[str, Record] | None:
        """Return one of some variables in a file or, at the time of its record, in another file."""
        times = self.outputs[record.file].times
        when = None if times is None else times[record.number]
        for number in (own, *(each for each in range(len(self.outputs)) if each != own)):
            output = self.outputs[number]
            for name in names:
                if name not in output.dataset.variables:
                    continue
                if output.times is None or output.time_dim not in output.dataset.variables[name].dims:
                    return name, Record(number, 0)
                found = np.flatnonzero(output.times == when)
                if found.size:
                    return name, Record(number, int(found[0]))
        return None


def _in_year(times: NDArray[np.datetime64], years: int) -> NDArray[np.datetime64]:
    """Return times moved by whole years, on the same day of the month; 29 February becomes 1 March."""
    begins = times.astype("datetime64[M]")
    return np.asarray((begins + 12 * years).astype("datetime64[ns]") + (times - begins.astype("datetime64[ns]")))


class SpeciesAtPoints:
    """Species of another model at points of the grid and heights of its layers.

    The pressures of the layers are those at the start, and change with the pressure of the lowest level of the files:
    the layers have fixed heights above ground.

    Parameters
    ----------
    model : OtherModel
        Files.
    lon, lat : array
        Points [degrees].
    air : Air
        Air at the points.
    start : datetime64, optional
        Time of the air.
    """

    def __init__(self, model: OtherModel, lon: Array, lat: Array, air: Air, start: np.datetime64 | None = None) -> None:
        self._model, self._lon, self._lat, self._air = model, lon, lat, air
        self._start = None if start is None else start.astype("datetime64[ns]")
        self._readers: dict[int, PointReader] = {}
        self._stored: dict[str, dict[Record, Array]] = {}
        self._lowest: dict[str, Array | float] = {}

    def at(self, when: np.datetime64) -> dict[str, Array]:
        """Return the mixing ratios (level, ...) [mol/mol] of the species that the files give."""
        when = when.astype("datetime64[ns]")
        of_variables = {name: self._variable(name, when) for name in self._model.variables}
        found = {}
        for species, mixture in self._model.mixtures.items():
            parts = [factor * of_variables[name] for name, factor in mixture.variables.items()]
            values = without_round_off(np.asarray(sum(parts)))
            if values.min(initial=0.0) < 0.0 or values.max(initial=0.0) > 1.0:
                raise DataError(
                    f"{self._model.key}: {species} of {self._model.title} is {values.min():g} to {values.max():g} "
                    f"mol/mol at {when:.16}; check the values and units of {described(mixture)}"
                )
            found[species] = values
        return found

    def _variable(self, name: str, when: np.datetime64) -> Array:
        before, after, share = self._model.around(name, when)
        first = self._at_record(name, before)
        return first if share == 0.0 else (1.0 - share) * first + share * self._at_record(name, after)

    def _at_record(self, name: str, record: Record) -> Array:
        """Return a variable of a record at the model's layers [mol/mol]."""
        stored = self._stored.setdefault(name, {})
        if record not in stored:
            while len(stored) >= _STORED:
                del stored[next(iter(stored))]
            stored[record] = self._interpolated(name, record)
        return stored[record]

    def _interpolated(self, name: str, record: Record) -> Array:
        air, change = self._air, self._model.conversions[name]
        values = change.factor * self._read(name, record)
        depth, levels = self._depth(name, record)
        if len(depth) == 1 and not self._model.outputs[record.file].is_constant:
            where = self._model.outputs[record.file].where
            raise DataError(f"{where}: {name} has one level; give all levels up to the top of the case")
        targets = self._targets(name, depth, levels)
        if levels.heights is not None:
            scale = GAS_CONSTANT * air.temperature / air.pressure
        else:
            values = values / np.exp(depth) if change.is_concentration else values
            scale = GAS_CONSTANT * air.temperature
        if depth[0].mean() > depth[-1].mean():
            depth, values = depth[::-1], values[::-1]
        found = _linear(depth, self._filled(values, name, record), targets)
        return found * scale if change.is_concentration else found

    def _targets(self, name: str, depth: Array, levels: Levels) -> Array:
        """Return the model's layers in the coordinate of some levels: see :meth:`_depth`."""
        air = self._air
        if levels.heights is not None:
            return np.broadcast_to(-air.heights.reshape(-1, *[1] * self._lon.ndim), air.pressure.shape)
        return np.asarray(np.log(air.pressure) + np.max(depth, axis=0) - self._lowest_at_start(name, depth))

    def gaps(self, when: np.datetime64) -> str:
        """Return a note on layers far above the highest or below the lowest level of a variable; empty without any."""
        notes: dict[str, None] = {}
        for name in self._model.variables:
            record, _, _ = self._model.around(name, when.astype("datetime64[ns]"))
            depth, levels = self._depth(name, record)
            if len(depth) < 2:
                continue
            targets, unit = self._targets(name, depth, levels), 1.0
            if levels.heights is not None:
                depth, targets, unit = depth / _SCALE_HEIGHT, targets / _SCALE_HEIGHT, _SCALE_HEIGHT
            above = np.flatnonzero(np.mean(targets - depth.min(axis=0), axis=-1) < -_FAR)
            below = np.flatnonzero(np.mean(targets - depth.max(axis=0), axis=-1) > _FAR)
            for layers, end, word in ((above, depth.min(), "highest"), (below, depth.max(), "lowest")):
                at_end = f"{-end * unit:.0f} m" if unit > 1.0 else f"{np.exp(end) / 100.0:.0f} hPa"
                if layers.size:
                    notes[f"{counted(layers.size, 'layer')} beyond the {word} level, {at_end}: its values hold"] = None
        return "; ".join(notes)

    def _lowest_at_start(self, name: str, depth: Array) -> Array | float:
        """Return the logarithm of the pressure of the lowest level at the start."""
        if self._start is None:
            return np.asarray(np.max(depth, axis=0))
        if name not in self._lowest:
            before, after, share = self._model.around(name, self._start)
            first, second = (np.max(self._depth(name, each)[0], axis=0) for each in (before, after))
            self._lowest[name] = (1.0 - share) * first + share * second
        return self._lowest[name]

    def _depth(self, name: str, record: Record) -> tuple[Array, Levels]:
        """Return ln of the pressure of the levels (level, ...), or their negative heights, and the levels."""
        output = self._model.outputs[record.file]
        dim = output.vertical(name)
        assert dim is not None
        shape = (-1, *[1] * self._lon.ndim)
        field = self._pressure_field(dim, record)
        if field is not None:
            return np.log(field), Levels()
        levels = output.levels(dim)
        if levels.heights is not None:
            return np.broadcast_to(-levels.heights.reshape(shape), (levels.heights.size, *self._lon.shape)), levels
        assert levels.a is not None
        assert levels.b is not None
        surface = self._surface_pressure(levels, record) if np.any(levels.b) else np.zeros(self._lon.shape)
        pressure = levels.a.reshape(shape) + levels.b.reshape(shape) * surface
        return np.log(np.maximum(pressure, 1e-3)), levels

    def _pressure_field(self, dim: str, record: Record) -> Array | None:
        """Return the pressure (level, ...) [Pa] of a field in the file or in another one with the same levels."""
        model = self._model
        size = model.outputs[record.file].dataset.sizes[dim]
        for output in (model.outputs[record.file], *model.outputs):
            names = pressure_fields(output.dataset)
            if not names or output.dataset.sizes.get(dim) != size:
                continue
            found = [model.at_time((name,), record, model.outputs.index(output)) for name in names]
            parts = [self._in_pascal(*each) for each in found if each is not None]
            if len(parts) == len(names):
                return np.asarray(sum(parts))
        return None

    def _surface_pressure(self, levels: Levels, record: Record) -> Array:
        """Return the surface pressure of the files [Pa], or that of the case if they have none."""
        names = (levels.surface, *SURFACE_PRESSURES) if levels.surface else SURFACE_PRESSURES
        found = self._model.at_time(names, record, record.file)
        if found is None:
            return self._air.surface_pressure
        values = np.exp(self._read(*found)) if found[0] == "lnsp" else self._in_pascal(*found)
        return values[0] if values.ndim > self._lon.ndim else values

    def _in_pascal(self, name: str, record: Record) -> Array:
        output = self._model.outputs[record.file]
        change = conversion(output.dataset.variables[name].attrs, "Pa", f"{output.where}: {name}")
        return self._read(name, record) * change.factor

    def _read(self, name: str, record: Record) -> Array:
        output = self._model.outputs[record.file]
        if record.file not in self._readers:
            self._readers[record.file] = output.nodes.at(self._lon, self._lat)
        return output.at(name, record.number, self._readers[record.file])

    def _filled(self, values: Array, name: str, record: Record) -> Array:
        """Return values from the top down with missing ones at the ground replaced by the lowest value above."""
        missing = np.isnan(values)
        if not missing.any():
            return values
        values = values.copy()
        for level in range(1, len(values)):
            values[level] = np.where(missing[level], values[level - 1], values[level])
        if np.isnan(values).any():
            output = self._model.outputs[record.file]
            when = "" if output.times is None else f" at {output.times[record.number]:.16}"
            first = np.argwhere(np.isnan(values))[0]
            point = tuple(first[1:])
            raise DataError(
                f"{output.where}: {name}{when} has missing values near {self._lon[point]:g} E, {self._lat[point]:g} N, "
                "also above the ground; fill them, or give other files"
            )
        return values


def _linear(nodes: Array, values: Array, targets: Array) -> Array:
    """Return values (node, ...) at targets (level, ...): linear between rising nodes, constant beyond them."""
    if len(nodes) == 1:
        return np.broadcast_to(values, targets.shape).copy()
    if np.any(np.diff(nodes, axis=0) <= 0.0):
        raise DataError("the pressures of the levels do not increase downwards; check the vertical coordinate")
    upper = np.clip(np.sum(nodes[None] <= targets[:, None], axis=1), 1, len(nodes) - 1)
    low, high = (np.take_along_axis(nodes, each, axis=0) for each in (upper - 1, upper))
    first, second = (np.take_along_axis(values, each, axis=0) for each in (upper - 1, upper))
    weight = np.clip((targets - low) / (high - low), 0.0, 1.0)
    return np.asarray((1.0 - weight) * first + weight * second)
