"""Boundary concentrations that vary in time and along the lateral faces, from a Dataset or a function of time.

They serve one-way nesting: the output of a larger run, interpolated to the face cells of a smaller area.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from airshed.core.arrays import Array
from airshed.core.data import is_dataset, numbers
from airshed.core.errors import CaseError, DataError
from airshed.core.text import duration
from airshed.grid import Grid
from airshed.io.grid_file import standard_name
from airshed.io.timeline import InstantSpans, Timeline
from airshed.kernels.boundary import BoundaryForcing, FaceCells, PackedBoundary
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import SIDES
from airshed.models.air.boundary.initial import check_dims, mixing_ratios, unknown_species
from airshed.models.air.weather.dataset import Calls, seconds_since
from airshed.parallel.domain import Subdomain

if TYPE_CHECKING:
    import xarray as xr

    from airshed.models.air.case import Case

GivenBoundary: TypeAlias = "xr.Dataset | Callable[[float], xr.Dataset] | None"

_SAME_PLACE = 1e-6  # degrees
_HORIZONTAL = (
    {"longitude", "latitude"}, {"projection_x_coordinate", "projection_y_coordinate"},
    {"grid_longitude", "grid_latitude"}, {"west_east", "south_north"}, {"COL", "ROW"},
)  # fmt: skip


def face_cells(area: "Grid | Case") -> "xr.Dataset":
    """Return the lateral face cells of a grid or a case as coordinates, in the order of boundary concentrations.

    Parameters
    ----------
    area
        A grid, or a case with one.

    Returns
    -------
    xarray.Dataset
        Along ``face``: ``side`` (west, east, south, north), and ``lat`` and ``lon`` [degrees] of the centre of the cell
        beyond the face, as if the grid continued there.

    Examples
    --------
    >>> faces = airshed.face_cells(case)
    >>> boundary = large.interp(lat=faces.lat, lon=faces.lon)
    """
    import xarray as xr

    grid = area if isinstance(area, Grid) else area.make_grid()
    cells = FaceCells(*grid.shape[1:])
    sides = {side: np.repeat(side, place.stop - place.start) for side, place in cells.places.items()}
    lon, lat = cells_beyond(grid, 1)
    return xr.Dataset(coords={
        "side": ("face", np.concatenate(list(sides.values()))),
        "lat": ("face", lat, {"units": "degrees_north"}), "lon": ("face", lon, {"units": "degrees_east"}),
    })  # fmt: skip


def cells_beyond(grid: Grid, number: int) -> tuple[Array, Array]:
    """Return longitudes and latitudes [degrees] (face cell) of the cells beyond the faces, 1 for the nearest ones."""
    reach = 2.0 * number - 1.0  # half cells
    west, east = grid.x_faces[[0, -1]] + reach * (grid.x_faces[[0, -1]] - grid.x[[0, -1]])
    south, north = grid.y_faces[[0, -1]] + reach * (grid.y_faces[[0, -1]] - grid.y[[0, -1]])
    rows, columns = np.ones(grid.y.size), np.ones(grid.x.size)
    y = {"west": grid.y, "east": grid.y, "south": south * columns, "north": north * columns}
    x = {"west": west * rows, "east": east * rows, "south": grid.x, "north": grid.x}
    places = {side: grid.mapping.to_lonlat(x[side], y[side]) for side in SIDES}
    cells = FaceCells(*grid.shape[1:])
    lon, lat = (cells.join({side: places[side][which] for side in SIDES}) for which in (0, 1))
    return lon, lat


def is_on_grid(dataset: "xr.Dataset") -> bool:
    """Return whether a Dataset has horizontal axes of its own instead of the face cells of a case."""
    axes = {standard_name(str(dim), dataset[dim].attrs) for dim in dataset.dims}
    return "face" not in dataset.dims and any(axes >= pair for pair in _HORIZONTAL)


class BoundaryField:
    """Boundary concentrations of the whole area at instants.

    times  [s since the start], increasing; linear in between, constant before the first and after the last
    """

    def __init__(
        self, given: "xr.Dataset | Callable[[float], xr.Dataset]", species: Sequence[str], grid: Grid, profile: Array,
        calls: Calls,
    ) -> None:  # fmt: skip
        """Read and check the first instant of a Dataset or a function.

        Parameters
        ----------
        given
            Variables named by species on time, level and face, or some of these, in the order of :func:`face_cells`,
            with `units` of a mixing ratio (mol/mol without); or a function seconds -> Dataset without time. With a
            dimension `cell` of two, the values of two cells beyond each face, the nearer one first.
        profile
            (species, level) [mol/mol] of species that the data lacks.
        calls
            Times at which a function is called. A Dataset must cover the period of the case.
        """
        self.species, self.grid, self._profile, self._given = species, grid, profile, given
        self._cells = face_cells(grid)
        self.times = calls.times
        if is_dataset(given):
            times = seconds_since(given["time"].to_numpy() if "time" in given.coords else None, calls.start, "boundary")
            if "time" in given.dims and "time" not in given.coords:
                raise DataError("the boundary's dimension time has no values; give it times or seconds")
            # the last interval may extend beyond the data
            if len(times) > 1 and not (times[0] <= 0.0 and 2.0 * times[-1] - times[-2] >= calls.last - 1.0):
                raise DataError(
                    f"the boundary's dataset covers {duration(times[0])} to {duration(times[-1])} after the start "
                    f"of the case, {calls.start}, but the case lasts {duration(calls.last)}; give data for all of it"
                )
            self.times = times
        elif not callable(given):
            raise CaseError(
                f"the boundary is a {type(given).__name__}; give an xarray.Dataset of species on time, level and face, "
                "or a function that takes seconds and returns one"
            )
        self.at(self.times[0])

    def at(self, seconds: float) -> Array:
        """Return the concentrations (species, level, face cell) [mol/mol] at one of the instants.

        With two cells beyond each face (2 species, level, face cell): first those of the nearer cell.
        """
        # the data of the instant
        data: Any = self._given
        if not is_dataset(data):
            data = data(seconds)
            if not is_dataset(data):
                raise DataError(f"the boundary's function returned {type(data).__name__}; return an xarray.Dataset")
        elif "time" in data.dims:
            data = data.isel(time=self.times.index(seconds), drop=True)

        # species of the data, and profiles of the other species
        unknown_species(data, self.species, "the boundary's dataset")
        size = {"level": self.grid.shape[0], "face": self._cells.sizes["face"]}
        if {"cell", "face"} <= set(data.dims):
            size = {"cell": 2, **size}
        field = np.empty((len(self.species), *size.values()))
        field[...] = self._profile[..., None] if "cell" not in size else self._profile[:, None, :, None]
        for number, name in enumerate(self.species):
            if name in data.data_vars:
                where = f"the boundary's {name}"
                check_dims(data[name], where, size, "time")
                if "face" in data[name].dims:
                    self._check_places(data[name], where)
                field[number] = mixing_ratios(data[name], where, size, self._place)
        return field if "cell" not in size else np.concatenate([field[:, 0], field[:, 1]])

    def _place(self, *place: int) -> str:
        level, face = place[-2:]
        cell = self._cells.isel(face=face)
        return f"layer {level} at the {cell.side.item()} face at {cell.lat.item():g} N, {cell.lon.item():g} E"

    def _check_places(self, variable: "xr.DataArray", where: str) -> None:
        """Raise CaseError if coordinates along `face` differ from those of the grid."""
        for name in [each for each in ("lat", "lon") if each in variable.coords]:
            places = self._cells[name].to_numpy()
            given = numbers(np.broadcast_to(variable.coords[name].to_numpy(), places.shape), f"{where}: its {name}")
            apart = np.abs((given - places + 180.0) % 360.0 - 180.0)
            if apart.max() > _SAME_PLACE:
                raise CaseError(
                    f"{where} is not on the face cells of the grid: {name} differs by up to "
                    f"{apart.max():g} degrees; interpolate it to airshed.face_cells(case), in its order"
                )


@runtime_checkable
class FaceConcentrations(Protocol):
    """Boundary concentrations at any time, which give themselves to a model."""

    def attach(self, model: Any) -> None:
        """Become the boundary concentrations of a model."""
        ...

    def at(self, seconds: float) -> BoundaryForcing:
        """Return the concentrations at both ends of the interval with a time [s]."""
        ...


class LateralBoundary:
    """Packed boundary concentrations of the columns of a rank, at any time."""

    def __init__(self, field: BoundaryField, layout: Layout, subdomain: Subdomain) -> None:
        self.field, self._layout, self._subdomain = field, layout, subdomain
        decomposition, rank = subdomain.decomposition, subdomain.tile.rank
        self._sides = [side for side in SIDES if decomposition.neighbour(rank, side) is None]
        self._instants = Timeline[PackedBoundary](InstantSpans(field.times), self._packed)

    def at(self, seconds: float) -> BoundaryForcing:
        """Return the concentrations at both ends of the interval with a time [s]."""
        start, end, weight = self._instants.at(seconds)
        return BoundaryForcing(start, end, weight)

    def _packed(self, seconds: float) -> PackedBoundary:
        grid, window = self.field.grid, self._subdomain.window
        own = FaceCells(*grid.shape[1:]).part(self.field.at(seconds), window.rows, window.columns)
        packed = PackedBoundary.of(self._layout, own, seconds, self._sides)
        self._layout.memory.prefetch(packed.sides.values(), constant=True)
        return packed
