"""Fields of a finished run near the ground: which output holds a species, and its series at columns of cells."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed
from airshed.grid import Grid
from airshed.io.grid_file import is_projected, on_grid
from airshed.io.netcdf import reading
from airshed.io.results import open_run
from airshed.io.run_state import read_state, results

if TYPE_CHECKING:
    import xarray as xr

Numbers = npt.NDArray[np.intp]
Window = tuple[np.datetime64, np.datetime64]

SUMS: Final = {"NOx": ("NO", "NO2")}
"""Observed sums of species -> their members; the mass is that of the last one, as networks report NOx as NO2."""

MASS_UNITS: Final = {"kg m-3": 1e9, "kg/m3": 1e9, "ug m-3": 1.0, "ug/m3": 1.0}
"""Units of mass concentrations -> factor to ug/m3."""

SURFACE: Final = "surface_altitude"
HILL: Final = 100.0
"""Height above the model's ground [m] from which a station is compared with a layer at its altitude."""

_RATIO_UNITS: Final = ("mol mol-1", "mol/mol", "mole mole-1")
_VALUES_AT_ONCE: Final = 4_000_000


@dataclass(frozen=True, eq=False)
class Series:
    """Values of a species at columns of cells.

    values  (n, columns)  mixing ratio [mol/mol], or [ug/m3] for a field that is a mass in a volume
    times   (n,) [s] since the start of the evaluation, of instants
    bounds  (n, 2) [s] of means, None for instants
    """

    values: Array
    times: Array
    bounds: Array | None


@dataclass(frozen=True)
class Source:
    """Variable of an output file, with its horizontal dimensions."""

    dataset: "xr.Dataset"
    name: str
    where: str
    dims: tuple[str, str] = ("lat", "lon")

    @property
    def is_mean(self) -> bool:
        """True if values are means in time, by ``cell_methods``."""
        return "time: mean" in str(self.dataset[self.name].attrs.get("cell_methods", "")) and self.bounds is not None

    @property
    def bounds(self) -> "npt.NDArray[np.datetime64] | None":
        """Beginning and end of each mean (n, 2), None where the file has none."""
        name = self.dataset["time"].attrs.get("bounds") or self.dataset["time"].encoding.get("bounds") or "time_bnds"
        if name not in self.dataset.variables:
            return None
        found = self.dataset[name].to_numpy()
        if found.dtype.kind != "M":  # xarray decodes bounds by the attributes of their coordinate
            return None
        return np.asarray(found, "datetime64[ns]")

    @property
    def longest(self) -> float:
        """Longest interval of the means [s], 0 for instants."""
        bounds = self.bounds if self.is_mean else None
        return 0.0 if bounds is None else float(np.diff(bounds, axis=1).max() / np.timedelta64(1, "s"))

    @property
    def times(self) -> "npt.NDArray[np.datetime64]":
        """Times of the output (n,), UTC."""
        return np.asarray(self.dataset["time"].to_numpy(), "datetime64[ns]")

    @property
    def ends(self) -> Window:
        """First and last time that the output covers."""
        along = self.times if not self.is_mean or self.bounds is None else self.bounds.reshape(-1)
        return along.min(), along.max()

    @property
    def molar_mass(self) -> float | None:
        """Molar mass [kg/mol], None where the file has none."""
        mass = self.dataset[self.name].attrs.get("molar_mass")
        return None if mass is None else float(mass)

    @property
    def size(self) -> float | None:
        """Factor from a mass concentration to ug/m3; None for a mixing ratio."""
        return MASS_UNITS.get(str(self.dataset[self.name].attrs.get("units", "")))

    def read(self, level: int, rows: slice, columns: slice, times: slice) -> Array:
        """Return values (time, rows, columns) of a part of one level; raises DataError for a damaged file."""
        variable = self.dataset[self.name]
        pick: dict[str, Any] = {"time": times, **dict(zip(self.dims, (rows, columns), strict=True))}
        if "level" in variable.dims:
            pick["level"] = level
        with reading(Path(self.where), f"variable {self.name}".format):
            return np.asarray(variable.isel(pick).transpose("time", *self.dims).to_numpy(), np.float64)


class RunFields:
    """Outputs of a run, open for reading; use in a ``with`` statement.

    grid     cells with one layer, which stands for all
    label    name of the run in tables
    outputs  names and datasets of a run that is open already; by default those of the path
    """

    def __init__(self, path: Path, label: str = "", outputs: "Sequence[tuple[str, xr.Dataset]]" = ()) -> None:
        self.path, self.label = path, label or path.stem
        self._files = ExitStack()
        self.outputs: list[tuple[str, xr.Dataset]] = list(outputs)
        try:
            for name in () if outputs else _names(path):
                dataset = self._files.enter_context(open_run(path, name) if path.is_dir() else open_run(path))
                self.outputs.append((name, dataset))
            self.outputs, self.grid = _on_one_grid(self.outputs, path)
            self.sources = self._found_sources()
        except BaseException:
            self._files.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()

    @property
    def title(self) -> str:
        """Title of the case."""
        return str(self.outputs[0][1].attrs.get("title", "")) or self.label

    @cached_property
    def period(self) -> Window:
        """First and last time that the run covers, UTC."""
        ends = [source.ends for found in self.sources.values() for source in found]
        return min(first for first, _ in ends), max(last for _, last in ends)

    @property
    def species(self) -> list[str]:
        """Species that can be compared, sums included."""
        found = list(self.sources)
        for name, parts in SUMS.items():
            outputs = [{id(source.dataset) for source in self.sources.get(part, ())} for part in parts]
            if name not in self.sources and set.intersection(*outputs):  # one output has all, so that their times agree
                found.append(name)
        return found

    def members(self, species: str, span: float = np.inf) -> list[Source]:
        """Return the fields of one output whose sum is a species.

        Means no longer than ``span`` [s] have precedence, then instants, then the output with most times.
        """
        names = (species,) if species in self.sources else SUMS[species]
        first, *others = ({id(each.dataset): each for each in self.sources[name]} for name in names)
        whole = [
            [each, *(other[key] for other in others)] for key, each in first.items() if all(key in o for o in others)
        ]

        def fitness(members: list[Source]) -> tuple[bool, bool, int]:
            source = members[0]
            return source.is_mean and source.longest <= (1.0 + 1e-6) * span, not source.is_mean, source.times.size

        return max(whole, key=fitness)

    def molar_mass(self, species: str) -> float | None:
        """Return the molar mass [kg/mol] for the conversion to a mass, None where unknown."""
        return self.members(species)[-1].molar_mass

    def layer_faces(self, species: str) -> Array:
        """Return the lower and upper face of each layer of a species [m above ground], (levels, 2)."""
        dataset = self.members(species)[0].dataset
        if "level" not in dataset.dims:
            return np.array([[0.0, 0.0]])
        bounds = dataset["level"].attrs.get("bounds", "level_bnds")
        if bounds in dataset.variables:
            return np.asarray(dataset[bounds].to_numpy(), np.float64)
        centres = np.atleast_1d(np.asarray(dataset["level"].to_numpy(), np.float64))
        return np.stack([centres, centres], axis=1)

    @cached_property
    def surface_altitude(self) -> Array | None:
        """Altitude of the model's ground above the sea [m], (rows, columns); None where no output has it."""
        dims = self.grid.dims
        for _, dataset in self.outputs:
            if SURFACE in dataset.data_vars and set(dims) <= set(dataset[SURFACE].dims):
                field = dataset[SURFACE].isel({name: 0 for name in dataset[SURFACE].dims if name not in dims})
                with reading(self.path, f"variable {SURFACE}".format):
                    return np.asarray(field.transpose(*dims).to_numpy(), np.float64)
        return None

    def levels(self, species: str, columns: Numbers, altitude: Array, inlet: Array) -> Numbers:
        """Return the layer of a species to compare with stations, (p,).

        The layer that contains the inlet, the lowest one where its height is not known. A station that lies more than
        :data:`HILL` above the model's ground is compared with the layer at its altitude.

        altitude, inlet  of the stations above the sea, and of their inlets above ground [m], NaN where not known
        """
        height = np.nan_to_num(inlet)
        if self.surface_altitude is not None:
            above = altitude - self.surface_altitude.reshape(-1)[columns]
            height = np.where(above > HILL, above, height)
        tops = self.layer_faces(species)[:, 1]
        return np.minimum(np.searchsorted(tops, height, side="left"), tops.size - 1)

    def series(self, members: Sequence[Source], columns: Numbers, level: int, window: Window) -> Series:
        """Return the series of the sum of fields at columns (row * columns + column) of one layer, within a window.

        Times are in seconds since the start of the window.
        """
        first, times = members[0], members[0].times
        begin = max(int(np.searchsorted(times, window[0], side="right")) - 2, 0)  # with the times before and after it
        inside = slice(begin, min(int(np.searchsorted(times, window[1], side="left")) + 2, times.size))
        values = sum((_columns_of(each, level, columns, inside, self.grid) for each in members), np.zeros(()))
        bounds = first.bounds[inside] if first.is_mean and first.bounds is not None else None
        return Series(
            np.asarray(values), _seconds(times[inside], window[0]),
            None if bounds is None else _seconds(bounds, window[0]),
        )  # fmt: skip

    def mean_field(self, species: str, window: Window) -> Array:
        """Return the mean (rows, columns) of a species in the lowest layer over the outputs within a window.

        The unit is that of :class:`Series`.
        """
        first, last = window
        times = self.members(species)[0].times
        numbers = np.flatnonzero((times >= first) & (times <= last))
        every = slice(0, self.grid.shape[1]), slice(0, self.grid.shape[2])
        block = max(_VALUES_AT_ONCE // (self.grid.shape[1] * self.grid.shape[2]), 1)
        total = np.zeros(self.grid.shape[1:])
        for source in self.members(species):
            for begin in range(int(numbers[0]), int(numbers[-1]) + 1, block):
                part = source.read(0, *every, slice(begin, min(begin + block, int(numbers[-1]) + 1)))
                total += part.sum(axis=0) * (source.size or 1.0)
        return total / numbers.size

    def _found_sources(self) -> dict[str, list[Source]]:
        """Return by species the fields of all outputs that can be compared."""
        found: dict[str, list[Source]] = {}
        for name, dataset in self.outputs:
            where = f"{self.path} ({name})" if self.path.is_dir() else str(self.path)
            for variable in map(str, dataset.data_vars):
                if _is_comparable(dataset[variable], self.grid.dims):
                    found.setdefault(variable, []).append(Source(dataset, variable, where, self.grid.dims))
        if not found:
            kept = listed([str(name) for name in self.outputs[0][1].data_vars if not str(name).endswith("_bnds")])
            raise DataError(
                f"{self.path} has no mixing ratio or mass on time, {' and '.join(self.grid.dims)} to compare with "
                f"observations; "
                f"it has: {kept or 'nothing'}"
            )
        return found


def _names(path: Path) -> list[str]:
    """Return the names of the outputs of a run folder that are whole; those of a file are its own."""
    state = read_state(path) if path.is_dir() else None
    if state is None:
        return ["output"]
    return [name for name in state.outputs if results(path, name)] or ["output"]


def _on_one_grid(
    outputs: Sequence[tuple[str, "xr.Dataset"]], path: Path
) -> tuple[list[tuple[str, "xr.Dataset"]], Grid]:
    """Return the outputs on ascending coordinates of their grid, and the grid."""
    if not is_projected(outputs[0][1]):
        return list(outputs), _lonlat_grid(outputs[0][1], path)
    placed = [(name, on_grid(dataset, path)) for name, dataset in outputs]
    mapping, x_faces, y_faces = placed[0][1][1]
    return [(name, dataset) for name, (dataset, _) in placed], Grid.mapped(mapping, x_faces, y_faces, (0.0, 1.0))


def _lonlat_grid(dataset: "xr.Dataset", path: Path) -> Grid:
    faces = []
    for name in ("lon", "lat"):
        if name not in dataset.dims or name not in dataset.coords:
            raise DataError(
                f"{path} has no axis {name}; an evaluation needs fields on time, lat and lon, or on a CF grid mapping"
            )
        centres = np.asarray(dataset[name].to_numpy(), np.float64)
        bounds = dataset[name].attrs.get("bounds", f"{name}_bnds")
        if bounds in dataset.variables and dataset[bounds].shape == (centres.size, 2):
            edges = np.asarray(dataset[bounds].to_numpy(), np.float64)
            faces.append(np.append(edges[:, 0], edges[-1, 1]))
        else:
            step = centres[1] - centres[0] if centres.size > 1 else 1.0
            faces.append(np.append(centres - 0.5 * step, centres[-1] + 0.5 * step))
    try:
        return Grid.lonlat(faces[0], faces[1], (0.0, 1.0))
    except CaseError as error:
        raise DataError(f"{path}: {error}") from None


def _is_comparable(variable: "xr.DataArray", dims: tuple[str, str]) -> bool:
    """Return True for a mixing ratio or mass in the lowest layer, at instants or as means, without extremes."""
    unit, method = (str(variable.attrs.get(name, "")) for name in ("units", "cell_methods"))
    is_value = not any(word in method for word in ("maximum", "minimum", "sum"))
    return is_value and {"time", *dims} <= set(variable.dims) and (unit in _RATIO_UNITS or unit in MASS_UNITS)


def _columns_of(source: Source, level: int, columns: Numbers, times: slice, grid: Grid) -> Array:
    """Return the values (n, columns) of one field, read in blocks of times from the smallest rectangle of cells."""
    rows, across = np.divmod(columns, grid.shape[2])
    south, west = int(rows.min()), int(across.min())
    box = slice(south, int(rows.max()) + 1), slice(west, int(across.max()) + 1)
    cells = (box[0].stop - south) * (box[1].stop - west)
    block = max(_VALUES_AT_ONCE // cells, 1)
    found = []
    for begin in range(times.start, times.stop, block):
        part = source.read(level, *box, slice(begin, min(begin + block, times.stop)))
        found.append(part[:, rows - south, across - west])
    values = np.concatenate(found)
    return values if source.size is None else values * source.size


def _seconds(times: "npt.NDArray[np.datetime64]", start: np.datetime64) -> Array:
    return np.asarray((times - start) / np.timedelta64(1, "s"), np.float64)
