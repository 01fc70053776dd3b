"""Pairs of observed and modelled values: the same location, height, time interval and unit; also as xarray datasets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.evaluate.run_fields import RunFields, Series, Window
from airshed.grid import Grid
from airshed.observations.observation import Observations, observed_unit, size_of_mole_fraction
from airshed.observations.selection import RejectedRow, bilinear, containing, mean_weights, overlap_weights
from airshed.observations.station import Station

if TYPE_CHECKING:
    import xarray as xr


Numbers = npt.NDArray[np.intp]

Placement = Literal["cell", "bilinear"]
PLACEMENTS: Final = get_args(Placement)

BEYOND: Final = "beyond the period of the run"
TOO_LONG: Final = "shorter than the means of the run"

POLLUTANTS: Final = ("O3", "NO2", "NOx", "NO", "PM2.5", "PM10", "SO2", "CO", "NH3")
"""Species in the order of tables; read even if no run has them, so that the report lists them."""

_BLOCK: Final = 256
_COVERED: Final = 1.0 - 1e-6


@dataclass(frozen=True, eq=False)
class Pairs:
    """Observed values with the modelled values at the same location and time.

    observations  values and sigma in :attr:`units`
    modelled      (runs, p), in the unit of the observation; NaN where the run has no value
    low, high     (runs, p), least and greatest value of the cell and its neighbours
    start         of the window, UTC: begin and end of observations count from there
    length        [s] of the window
    units         unit by species
    by_means      by run and species whether means of the run were used, else instants
    raised        stations that are compared with another layer than the lowest -> its faces [m above ground]
    rejected      observations that could not be paired
    """

    observations: Observations
    modelled: Array
    low: Array
    high: Array
    start: np.datetime64
    length: float
    runs: tuple[str, ...]
    units: Mapping[str, str]
    by_means: Mapping[tuple[str, str], bool]
    rejected: tuple[RejectedRow, ...] = ()
    raised: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def end(self) -> np.datetime64:
        """End of the window, UTC."""
        return self.start + np.timedelta64(round(self.length), "s")


def pair(
    runs: Sequence[RunFields],
    observations: Observations,
    window: Window,
    placement: Placement = "bilinear",
    stations: Mapping[str, Station] | None = None,
) -> Pairs:
    """Return the pairs of some runs with observations at the surface; observations count from the window's start.

    stations  with their altitude and the height of their inlet, as far as they are known
    """
    of = in_common_units(observations, runs)
    units = {name: str(of.unit[of.species == name][0]) for name in sorted(set(of.species.tolist()), key=_in_order)}
    known = [(stations or {}).get(name, Station(name)) for name in of.station.tolist()]
    altitude, inlet = np.array([(each.altitude, each.inlet) for each in known], np.float64).reshape(-1, 2).T
    found = np.full((3, len(runs), len(of)), np.nan)
    reasons = np.full(len(of), "", object)
    by_means: dict[tuple[str, str], bool] = {}
    raised: dict[str, tuple[float, float]] = {}
    for number, run in enumerate(runs):
        for name in units:
            rows = np.flatnonzero(of.species == name)
            columns = containing(run.grid, of.lon[rows], of.lat[rows])
            levels = run.levels(name, columns, altitude[rows], inlet[rows])
            for level in np.unique(levels).tolist():
                mine = rows[levels == level]
                found[:, number, mine], why, is_mean = _sample(run, name, of, mine, (window, placement, level))
                reasons[mine] = np.where(why != "", why, reasons[mine])
                by_means[run.label, name] = is_mean
                low, high = run.layer_faces(name)[level].tolist()
                raised |= {station: (low, high) for station in of.station[mine].tolist() if level}
    kept = reasons == ""
    modelled, low, high = found[:, :, kept]
    return Pairs(
        selected(of, kept), modelled, low, high, window[0], float((window[1] - window[0]) / np.timedelta64(1, "s")),
        tuple(run.label for run in runs), units, by_means,
        tuple(_rejection(of, row, str(reasons[row])) for row in np.flatnonzero(~kept).tolist()), raised,
    )  # fmt: skip


def _sample(
    run: RunFields, species: str, of: Observations, rows: Numbers, how: tuple[Window, Placement, int]
) -> tuple[Array, npt.NDArray[np.object_], bool]:
    """Return the modelled values of one species in one layer at the location and over the interval of each row.

    Value, least and greatest of the neighbours (3, rows); why a row cannot be paired, "" where it can; whether they are
    means of the run.
    """
    window, placement, level = how
    places, of_row = np.unique(np.stack([of.lon[rows], of.lat[rows]]), axis=1, return_inverse=True)
    lon, lat = places
    if placement == "bilinear":
        columns, weights = bilinear(run.grid, lon, lat)
    else:
        columns, weights = containing(run.grid, lon, lat)[:, None], np.ones((lon.size, 1))
    near = _neighbours(run.grid, containing(run.grid, lon, lat))
    needed, where = np.unique(np.concatenate([columns.ravel(), near.ravel()]), return_inverse=True)
    members = run.members(species, float((of.end - of.begin)[rows].min()))
    series = run.series(members, needed, level, window)
    at, around = where[: columns.size].reshape(columns.shape), where[columns.size :].reshape(near.shape)
    stacked = np.stack([
        (series.values[:, at] * weights).sum(axis=2),
        series.values[:, around].min(axis=2),
        series.values[:, around].max(axis=2),
    ])  # fmt: skip
    begin, end = of.begin[rows], of.end[rows]
    values = interval_means(series, stacked, of_row.reshape(-1), begin, end)
    reasons = np.asarray(_reasons(series, begin, end), object)
    return values * size_in_unit(run, species, str(of.unit[rows[0]])), reasons, series.bounds is not None


def interval_means(series: Series, values: Array, place: Numbers, begin: Array, end: Array) -> Array:
    """Return means of series (k, n, places) over intervals (p,) [s], each at the place of its number, (k, p).

    Means of a run are weighted by their share of the interval. Between instants the series is linear, of which the
    integral is exact. An observation of an instant (begin = end) is interpolated.
    """
    found = np.full((values.shape[0], begin.size), np.nan)
    order = np.argsort(begin, kind="stable")
    for first in range(0, order.size, _BLOCK):
        rows = order[first : first + _BLOCK]
        low = max(int(np.searchsorted(series.times, begin[rows].min(), side="right")) - 2, 0)
        high = int(np.searchsorted(series.times, end[rows].max(), side="left")) + 2
        if series.bounds is None:
            weights = mean_weights(series.times[low:high], begin[rows], end[rows])
        else:
            weights = overlap_weights(series.bounds[low:high], begin[rows], end[rows])
        at = values[:, low:high, place[rows]]
        found[:, rows] = (np.where(weights.T != 0.0, at, 0.0) * weights.T).sum(axis=1)
    return found


def _reasons(series: Series, begin: Array, end: Array) -> npt.NDArray[np.str_]:
    """Return the reason to reject each interval (p,), "" where the series covers it."""
    if series.times.size == 0:
        return np.full(begin.size, BEYOND)
    if series.bounds is None:
        outside = (begin < series.times[0]) | (end > series.times[-1])
        return np.where(outside, BEYOND, "")
    covered = np.minimum(end, series.bounds.max()) - np.maximum(begin, series.bounds.min())
    outside = covered < _COVERED * np.maximum(end - begin, 1e-9)
    longest = float(np.diff(series.bounds, axis=1).max())
    return np.select([outside, end - begin < _COVERED * longest], [BEYOND, TOO_LONG], "")


def _neighbours(grid: Grid, cells: Numbers) -> Numbers:
    """Return the 3 x 3 columns around cells (p,), at an edge of the domain some of them twice, (p, 9)."""
    _, rows, across = grid.shape
    j, i = np.divmod(cells, across)
    up, right = (each.ravel() for each in np.mgrid[-1:2, -1:2])
    j, i = np.clip(j[:, None] + up, 0, rows - 1), np.clip(i[:, None] + right, 0, across - 1)
    return np.asarray(j * across + i, np.intp)


def size_in_unit(run: RunFields, species: str, unit: str) -> float:
    """Return the factor from a run's field to the unit of observations; raises DataError without a molar mass."""
    if run.members(species)[0].size is not None:
        return 1.0  # a mass in a volume, as observations of it are
    return _size(unit, species, run.molar_mass(species), run)


def _size(unit: str, species: str, molar_mass: float | None, run: RunFields) -> float:
    try:
        return size_of_mole_fraction(unit, "surface", molar_mass)
    except ValueError:
        raise DataError(
            f"{species} is observed as a mass, but {run.path} has no molar mass of it; add the attribute molar_mass "
            "[kg mol-1] to its field, or give observations in ppb"
        ) from None


def in_common_units(of: Observations, runs: Sequence[RunFields]) -> Observations:
    """Return observations with one unit for each species: ug/m3, or ppb where all are mixing ratios.

    Raises DataError where observations and fields cannot be converted into each other.
    """
    value, sigma, unit = of.value.copy(), of.sigma.copy(), of.unit.astype(object)
    for name in dict.fromkeys(of.species.tolist()):
        rows = of.species == name
        present = np.unique(of.unit[rows]).tolist()
        is_mass = any(run.members(name)[0].size is not None for run in runs)
        ratios = all(observed_unit(each, "surface").si == "mol/mol" for each in present)
        common = "ppb" if ratios and not is_mass else "ug/m3"
        for each in present:
            mine = rows & (of.unit == each)
            size = _conversion(each, common, name, runs)
            value[mine] *= size
            sigma[mine] *= size
        unit[rows] = common
    return replace(of, value=value, sigma=sigma, unit=unit.astype(np.str_))


def _conversion(unit: str, common: str, species: str, runs: Sequence[RunFields]) -> float:
    """Return the factor from a unit to the common unit, for gases at 293 K and 101.3 kPa."""
    found, wanted = observed_unit(unit, "surface"), observed_unit(common, "surface")
    if found.si == wanted.si:
        return found.size / wanted.size
    mass = next((m for run in runs if (m := run.molar_mass(species)) is not None), None)
    return _size(common, species, mass, runs[0]) / _size(unit, species, mass, runs[0])


def selected(of: Observations, kept: npt.NDArray[np.bool_]) -> Observations:
    """Return the observations of a mask (p,)."""
    columns = {name: values[kept] for name, values in vars(of).items() if name != "kernels"}
    return replace(of, **columns, kernels=tuple(compress(of.kernels, kept.tolist())))


def _in_order(species: str) -> tuple[int, str]:
    """Return a sort key that puts the main pollutants first."""
    return (POLLUTANTS.index(species) if species in POLLUTANTS else len(POLLUTANTS), species)


def _rejection(of: Observations, row: int, reason: str) -> RejectedRow:
    file, _, place = str(of.where[row]).rpartition(", ")
    return RejectedRow(file, place, str(of.station[row]), f"{of.value[row]:g}", reason)


# Pairs as xarray datasets: one row for each pair, and the layout of paired data that MELODIES-MONET reads.


def pair_dataset(pairs: Pairs) -> "xr.Dataset":
    """Return all pairs in one dimension ``pair``, with the values of each run along the dimension ``run``."""
    import xarray as xr

    of = pairs.observations
    words = {name: ("pair", getattr(of, name).astype(str).astype(object)) for name in ("station", "species", "unit")}
    numbers = {"longitude": (of.lon, "degrees_east"), "latitude": (of.lat, "degrees_north")}
    return xr.Dataset(
        {
            **words,
            **{name: ("pair", values, {"units": unit}) for name, (values, unit) in numbers.items()},
            "begin": ("pair", _moments(pairs, of.begin), {"long_name": "beginning of the observed interval, UTC"}),
            "end": ("pair", _moments(pairs, of.end), {"long_name": "end of the observed interval, UTC"}),
            "observed": ("pair", of.value, {"comment": "in the unit of each pair"}),
            "modelled": (("run", "pair"), pairs.modelled, {"comment": "in the unit of each pair"}),
            "least": (("run", "pair"), pairs.low, {"long_name": "least value of the cell and its neighbours"}),
            "greatest": (("run", "pair"), pairs.high, {"long_name": "greatest value of the cell and its neighbours"}),
        },
        {"run": list(pairs.runs)},
    )


def monet_datasets(pairs: Pairs, run: int) -> "Iterator[tuple[str, xr.Dataset]]":
    """Yield the paired data of one run for each averaging period, with a suffix for the file name, "" for the first.

    Dimensions are ``time`` (beginning of the observed interval, UTC) and ``x`` (stations). The observed values have
    the name of the species, the modelled values that name with ``_new``, as MELODIES-MONET renames alike variables.
    """
    of = pairs.observations
    periods, counts = np.unique(np.round(of.end - of.begin), return_counts=True)
    for place, period in enumerate(periods[np.argsort(-counts, kind="stable")].tolist()):
        rows = np.flatnonzero(np.round(of.end - of.begin) == period)
        yield f"_{period / 3600.0:g}h" if place else "", _monet_dataset(pairs, run, rows, period)


def _monet_dataset(pairs: Pairs, run: int, rows: npt.NDArray[np.intp], period: float) -> "xr.Dataset":
    import xarray as xr

    of = pairs.observations
    times, at_time = np.unique(of.begin[rows], return_inverse=True)
    sites, first, at_site = np.unique(of.station[rows], return_index=True, return_inverse=True)
    variables: dict[str, tuple[tuple[str, str], Array, dict[str, str]]] = {}
    for species in dict.fromkeys(of.species[rows].tolist()):
        mine = of.species[rows] == species
        for name, values, what in (
            (species, of.value, "observed"),
            (f"{species}_new", pairs.modelled[run], f"modelled by {pairs.runs[run]}"),
        ):
            table = np.full((times.size, sites.size), np.nan)
            table[at_time[mine], at_site[mine]] = values[rows][mine]
            variables[name] = (("time", "x"), table, {"units": pairs.units[species], "long_name": f"{species}, {what}"})
    coordinates = {
        "time": ("time", _moments(pairs, times), {"long_name": "beginning of the observed interval, UTC"}),
        "x": np.arange(sites.size),
        "siteid": ("x", sites.astype(object)),
        "longitude": ("x", of.lon[rows[first]], {"units": "degrees_east"}),
        "latitude": ("x", of.lat[rows[first]], {"units": "degrees_north"}),
    }
    about = {"title": f"Pairs of {pairs.runs[run]} with observations", "source": "Airshed"}
    return xr.Dataset(variables, coordinates, {**about, "averaging_period": f"{period:g} s"})


def _moments(pairs: Pairs, seconds: Array) -> "npt.NDArray[np.datetime64]":
    """Return times [s] of a window as UTC."""
    return np.asarray(pairs.start.astype("datetime64[ns]") + np.round(seconds * 1e3).astype("timedelta64[ms]"))
