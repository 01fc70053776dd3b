"""Initial state from a dataset of species."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from airshed.core.arrays import Array
from airshed.core.data import numbers, without_round_off
from airshed.core.errors import CaseError
from airshed.core.text import listed, printable, shortened, suggestion
from airshed.core.units import to
from airshed.grid import Grid
from airshed.grid.coordinates import around_meridian

if TYPE_CHECKING:
    import xarray as xr


_OTHER_NAMES = {"lev": "level", "height": "level", "z": "level", "latitude": "lat", "longitude": "lon"}
_SAME_PLACE = 1e-6


def record_of_a_run(dataset: "xr.Dataset", start: np.datetime64, species: Sequence[str]) -> tuple["xr.Dataset", str]:
    """Return the species of a run's output at the start of a case, and a note; any other dataset unchanged, and "".

    Weather and bounds of the output are omitted. The note lists the species that it lacks.

    raises  CaseError for an output without a record at the start, or without any of the species
    """
    if "airshed_case" not in dataset.attrs or "time" not in dataset.dims:
        return dataset, ""
    times = dataset["time"].values.astype("datetime64[s]")
    found = np.flatnonzero(times == start.astype("datetime64[s]"))
    if not found.size:
        raise CaseError(
            f"the initial dataset is the output of a run, with records from {times.min()} to {times.max()}, but none "
            f"at the start, {start.astype('datetime64[s]')}; set time.start to one of its times"
        )
    there = [name for name in species if name in dataset.data_vars]
    if not there:
        raise CaseError("the initial dataset is the output of a run, but has no species of the mechanism")
    statistics = {dataset[name].attrs.get("cell_methods", "").removeprefix("time: ") for name in there} - {"", "point"}
    if statistics:
        raise CaseError(
            f"the initial dataset is the output of a run, but its values are a {min(statistics)} over time, not a "
            'state; give an output with statistic = "point"'
        )
    lacking = [name for name in species if name not in there]
    others = f"; not in it, and taken from the boundary's profiles: {listed(lacking)}" if lacking else ""
    record = dataset[there].isel(time=int(found[0]), drop=True)
    return record, f"read: output of a run at {times[found[0]]}, in single precision{others}"


def initial_from_dataset(dataset: "xr.Dataset", species: Sequence[str], grid: Grid, default: Array) -> Array:
    """Return the initial state, from variables of the dataset for its species, from ``default`` for other species.

    reads    dataset  variables named by species, on level, lat, lon or some of them; the attribute ``units`` is a
                      mixing ratio such as "ppb", by default mol/mol. Coordinates, if present, must be those of the
                      grid: lat and lon [degrees], lat in either direction, and level as the height of the layer
                      centres [m] or as index from 0
             default  [mol/mol], broadcast to (species, nz, nlat, nlon): :meth:`BoundaryProfiles.initial`, or 0
    returns  (species, nz, nlat, nlon) [mol/mol]
    raises   CaseError for variables that are not species, and for wrong dimensions, sizes, coordinates and values
    """
    unknown_species(dataset, species, "the initial dataset")
    size = dict(zip(("level", *grid.dims), grid.shape, strict=True))

    def place(level: int, row: int, column: int) -> str:
        return f"layer {level} at {grid.lat[row, column]:g} N, {grid.lon[row, column]:g} E"

    state = np.array(np.broadcast_to(default, (len(species), *grid.shape)), dtype=np.float64)
    for row, name in enumerate(species):
        if name in dataset.data_vars:
            where, given = f"the initial dataset's {name}", dataset[name]
            given = given.rename({dim: _OTHER_NAMES[str(dim)] for dim in given.dims if dim in _OTHER_NAMES})
            check_dims(given, where, size)
            state[row] = mixing_ratios(_on_grid(given, where, grid), where, size, place)
    return state


def unknown_species(dataset: "xr.Dataset", species: Sequence[str], what: str) -> None:
    """Raise CaseError that lists all variables that are not species."""
    unknown = [str(name) for name in dataset.data_vars if name not in species]
    if unknown:
        names = [shortened(printable(name), 100) for name in unknown]
        raise CaseError(
            f"{what} has {listed(names)}, not in the mechanism; {names[0]}: {suggestion(unknown[0], species)}"
        )


def check_dims(variable: "xr.DataArray", where: str, size: Mapping[str, int], *further: str) -> None:
    """Raise CaseError for a variable with wrong dimensions or sizes; `further` are names of allowed dimensions."""
    for dim in variable.dims:
        if dim not in size:
            *first, last = *further, *size
            raise CaseError(f"{where} has the dimension {dim!r}; it may have {', '.join(first)} and {last} only")
        if variable.sizes[dim] != size[str(dim)]:
            hint = " face cells, those of airshed.face_cells(case)" if dim == "face" else ""
            raise CaseError(
                f"{where} has {variable.sizes[dim]} points along {dim}, but the grid has {size[str(dim)]}{hint}"
            )


def mixing_ratios(
    variable: "xr.DataArray", where: str, size: Mapping[str, int], place: Callable[..., str]
) -> Array:  # fmt: skip
    """Return a variable in units of a mixing ratio as [mol/mol], on all dimensions of `size` in their order.

    place  returns a description of the location of an element, from its indices

    Raises CaseError for values that are not mixing ratios.
    """
    missing = {dim: count for dim, count in size.items() if dim not in variable.dims}
    given = variable.expand_dims(missing).transpose(*size).to_numpy()
    values = without_round_off(numbers(given, where))
    wrong = ~(np.isfinite(values) & (values >= 0.0))
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0].tolist())
        raise CaseError(
            f"{where} has a value that is negative or not finite, {values[first]:g} in {place(*first)}; correct it, or "
            "leave the variable out"
        )
    units = variable.attrs.get("units", "1")
    ratio = np.asarray(values * to(f"1 {units}", "mol/mol", where=f"units of {where}"))
    if ratio.max(initial=0.0) > 1.0 + 1e-6:  # with a margin for round-off
        raise CaseError(f"{where} is up to {ratio.max():.3g} mol/mol, more than all air; check its values and units")
    return ratio


def _on_grid(variable: "xr.DataArray", where: str, grid: Grid) -> "xr.DataArray":
    """Return the variable in the order of the grid, from south to north and from west to east.

    Raises CaseError if its coordinates differ from those of the grid.
    """
    for dim in grid.dims:
        if dim != "lon" and dim in variable.coords and dim in variable.dims:
            variable = variable.sortby(dim)
    if "lon" in variable.coords and "lon" in variable.dims:  # 350 is -10
        given = numbers(variable.coords["lon"].to_numpy(), f"{where}: its lon")
        middle = 0.5 * (grid.x_faces[0] + grid.x_faces[-1])
        variable = variable.assign_coords(lon=around_meridian(given, middle)).sortby("lon")
    for dim, places in zip(("level", *grid.dims), (grid.level, grid.y, grid.x), strict=True):
        if dim in variable.dims and dim in variable.coords:
            given = numbers(variable.coords[dim].to_numpy(), f"{where}: its {dim}")
            counted = np.arange(given.size, dtype=np.float64) if dim == "level" else places
            if not any(np.allclose(given, each, rtol=_SAME_PLACE, atol=_SAME_PLACE) for each in (places, counted)):
                raise CaseError(
                    f"{where} is at {dim} {given[0]:g} to {given[-1]:g}, but the grid's cell centres at "
                    f"{places[0]:g} to {places[-1]:g}; interpolate it onto the grid first"
                )
    return variable
