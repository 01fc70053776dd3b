"""Grids of files: WRF and WPS output, I/O API files and GRIDDESC, and CF files with or without a grid mapping.

source  Skamarock et al. 2021, NCAR/TN-556+STR (WRF's projections on a sphere of 6370 km)
        I/O API user manual, GRIDDESC files and map projections, https://www.cmascenter.org/ioapi
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.data import conversion
from airshed.core.errors import DataError
from airshed.core.files import note_input
from airshed.core.text import nearest
from airshed.grid.mapping import GridMapping, LonLat
from airshed.grid.projected import MapProjection, projection
from airshed.io.netcdf import open_file

if TYPE_CHECKING:
    import xarray as xr

WRF_RADIUS: Final = 6.37e6
"""Radius of the sphere of WRF, WPS and the I/O API [m]."""
GRIDDESC: Final = "GRIDDESC"
_UNIFORM: Final = 2e-3
"""Largest distance of a centre from its uniform position, relative to the spacing."""
_ROUND_OFF: Final = 3e-5
"""Round-off of longitudes in single precision [degrees]."""
_WRF_KINDS: Final = {1: "lambert", 2: "polar stereographic", 3: "mercator"}
_WRF_PLACES: Final = (("XLONG", "XLAT"), ("XLONG_M", "XLAT_M"), ("CLONG", "CLAT"))
_IOAPI_NUMBERS: Final = (
    "XORIG", "YORIG", "XCELL", "YCELL", "NCOLS", "NROWS", "P_ALP", "P_BET", "P_GAM", "XCENT", "YCENT",
)  # fmt: skip
_LONLAT: Final = "latitude_longitude"
_X_NAMES: Final = ("projection_x_coordinate", "grid_longitude", "longitude")
_Y_NAMES: Final = ("projection_y_coordinate", "grid_latitude", "latitude")
_STANDARD_NAMES: Final = {
    "degrees_east": "longitude", "degrees_north": "latitude", "lon": "longitude", "lat": "latitude",
    "rlon": "grid_longitude", "rlat": "grid_latitude", "x": "projection_x_coordinate", "y": "projection_y_coordinate",
}  # fmt: skip
"""By the units and the usual names of coordinates that lack the attribute."""


class FileGrid(NamedTuple):
    """Horizontal grid of a file: its map projection and its faces, in the unit of the projection."""

    mapping: GridMapping
    x_faces: Array
    y_faces: Array

    def without_margin(self, margin: int, where: object) -> "FileGrid":
        """Return the grid without a number of cells at each side; raise DataError where none would be left."""
        cells = min(self.x_faces.size, self.y_faces.size) - 1
        if 2 * margin >= cells:
            size = f"{self.x_faces.size - 1} x {self.y_faces.size - 1}"
            raise DataError(f"{where} has {size} cells; a margin of {margin} leaves none")
        inside = slice(margin, -margin or None)
        return FileGrid(self.mapping, self.x_faces[inside], self.y_faces[inside])


def read_grid(path: Path, margin: int = 0) -> FileGrid:
    """Return the horizontal grid of a file.

    Parameters
    ----------
    path : Path
        A netCDF file, or ``GRIDDESC:NAME`` for a grid of a GRIDDESC file.
    margin : int
        Number of outer rows and columns of cells that are omitted at each side.

    Raises
    ------
    DataError
        For a file without a regular horizontal grid.
    """
    # names of WRF output have colons, too
    file, _, name = (path.name, "", "") if path.is_file() else path.name.partition(":")
    opened = note_input(path.with_name(file))
    stamp = opened.stat().st_mtime_ns if opened.is_file() else 0
    return _cached(path, stamp, bool(name)).without_margin(margin, path)


@lru_cache(maxsize=16)
def _cached(path: Path, stamp: int, is_griddesc: bool) -> FileGrid:
    if is_griddesc:
        return _of_griddesc(path.with_name(path.name.partition(":")[0]), path.name.partition(":")[2])
    with open_file(path) as dataset:
        return dataset_grid(dataset, path)


def dataset_grid(dataset: "xr.Dataset", path: Path) -> FileGrid:
    """Return the horizontal grid of an open file: of WRF, of the I/O API, or of CF coordinates; raise DataError."""
    if "MAP_PROJ" in dataset.attrs:
        return _of_wrf(dataset, path)
    if "GDTYP" in dataset.attrs:
        return ioapi_grid(dataset.attrs, path)
    return grid_of_dataset(dataset, path)


def _of_wrf(dataset: "xr.Dataset", path: Path) -> FileGrid:
    """Return the cells that a domain of WRF or WPS output covers at all its times."""
    mapping, x, y = _wrf_points(dataset, path)
    dx, dy = _wrf_sizes(dataset)
    return FileGrid(mapping, _common(x, 1, path, dx, mapping.unit), _common(y, 0, path, dy, mapping.unit))


def wrf_grid(dataset: "xr.Dataset", path: Path, record: int) -> FileGrid:
    """Return the grid of the mass points of WRF output at one of its times; raise DataError as :func:`read_grid`."""
    mapping, x, y = _wrf_points(dataset, path, record)
    dx, dy = _wrf_sizes(dataset)
    return FileGrid(mapping, _faces(x[0], 1, path, dx, mapping.unit), _faces(y[0], 0, path, dy, mapping.unit))


def _wrf_sizes(dataset: "xr.Dataset") -> tuple[float | None, float | None]:
    """Return the size of a cell along x and y [m]; None on longitude and latitude, whose cells have no length."""
    if int(np.asarray(dataset.attrs["MAP_PROJ"]).item()) == 6:
        return None, None
    return float(np.asarray(dataset.attrs["DX"]).item()), float(np.asarray(dataset.attrs["DY"]).item())


def _wrf_points(dataset: "xr.Dataset", path: Path, record: int | None = None) -> tuple[GridMapping, Array, Array]:
    """Return the projection, and x and y of the mass points (time, y, x) at all times or one."""
    found = next((pair for pair in _WRF_PLACES if pair[0] in dataset and pair[1] in dataset), None)
    if found is None:
        raise DataError(f"{path}: WRF output without XLONG and XLAT; it needs the coordinates of its mass points")
    places = []
    for name in found:
        variable = dataset.variables[name]
        has_times = variable.ndim == 3
        part = variable if record is None or not has_times else variable.isel({variable.dims[0]: [record]})
        values = np.asarray(part.values, np.float64)
        places.append(values if has_times else values[None])
    lon, lat = places
    mapping = _wrf_projection(dataset, path)
    x, y = mapping.from_lonlat(lon, lat)
    return mapping, np.unwrap(x, axis=-1, period=360.0) if np.isfinite(mapping.period) else x, y


def _wrf_projection(dataset: "xr.Dataset", path: Path) -> GridMapping:
    """Return the projection of WRF's attributes."""
    given = {
        name: float(np.asarray(value).item())
        for name, value in dataset.attrs.items()
        if np.size(value) == 1 and not isinstance(value, str)
    }
    kind = int(given["MAP_PROJ"])
    if kind in _WRF_KINDS:
        parallels = (given["TRUELAT1"], given.get("TRUELAT2", given["TRUELAT1"]))
        return projection(
            _WRF_KINDS[kind], given["STAND_LON"], given.get("MOAD_CEN_LAT", given["CEN_LAT"]),
            parallels if kind == 1 else parallels[:1], WRF_RADIUS,
        )  # fmt: skip
    if kind == 6 and given.get("POLE_LAT", 90.0) == 90.0:
        return LonLat()
    if kind == 6:  # the pole of the frame is at POLE_LAT on the meridian opposite to that of -STAND_LON
        lon = (360.0 - given["STAND_LON"]) % 360.0 - 180.0
        return projection("rotated pole", lon, given["POLE_LAT"], (), WRF_RADIUS)
    raise DataError(
        f"{path}: MAP_PROJ = {kind} is unknown; Lambert (1), polar stereographic (2), Mercator (3) and "
        "longitude-latitude (6), also with a rotated pole, are read"
    )


def _common(centres: Array, axis: int, path: Path, spacing: float | None, unit: str) -> Array:
    """Return the faces of the cells that a domain covers at all times (time, y, x): a nest may follow a storm."""
    every = [_faces(each, axis, path, spacing, unit) for each in centres]
    size = every[0][1] - every[0][0]
    steps = [round((faces[0] - every[0][0]) / size) for faces in every]
    first, last = max(steps), min(step + faces.size for step, faces in zip(steps, every, strict=True))
    if last - first < 3:
        raise DataError(f"{path}: its domain moves further than its own size; give grid.projection, area and spacing")
    return np.asarray(every[0][0] + size * np.arange(first, last), np.float64)


def ioapi_grid(given: Mapping[str, Any], path: Path) -> FileGrid:
    """Return the grid of an I/O API file, such as MCIP output or emissions for CMAQ."""
    numbers = {name: float(np.asarray(given[name]).item()) for name in _IOAPI_NUMBERS}
    x, y, dx, dy, columns, rows, *angles = numbers.values()
    mapping = _ioapi_projection(int(np.asarray(given["GDTYP"]).item()), angles, path)
    return FileGrid(mapping, _between(x, dx, columns), _between(y, dy, rows))


def _between(first: float, size: float, cells: float) -> Array:
    """Return the faces of uniform cells."""
    return np.asarray(first + size * np.arange(int(cells) + 1), np.float64)


def _ioapi_projection(kind: int, angles: Sequence[float], path: Path) -> GridMapping:
    """Return the projection of an I/O API code of a grid type and its angles: alpha, beta, gamma, origin [degrees]."""
    alpha, beta, gamma, _, lat = angles
    if kind == 1:
        return LonLat()
    if kind == 2:
        return projection("lambert", gamma, lat, (alpha, beta), WRF_RADIUS)
    if kind == 6:
        return projection("polar stereographic", gamma, 90.0 * alpha, (beta,), WRF_RADIUS)
    if kind == 7:
        return projection("mercator", gamma, 0.0, (alpha,), WRF_RADIUS)
    raise DataError(
        f"{path}: grid type {kind} is not read; longitude-latitude (1), Lambert (2), polar stereographic (6) and "
        "equatorial Mercator (7) are"
    )


def _of_griddesc(path: Path, name: str) -> FileGrid:
    """Return a grid of a GRIDDESC file by its name."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    try:
        systems, grids = (dict(section) for section in _griddesc_sections(lines))
        if name not in grids:
            hint = nearest(name, grids)
            raise DataError(
                f"{path} has no grid {name!r}; " + (f"did you mean {hint}?" if hint else f"it has {', '.join(grids)}")
            )
        system, *numbers = grids[name]
        x, y, dx, dy, columns, rows = map(_number, numbers[:6])
        kind, *angles = systems[system]
        mapping = _ioapi_projection(int(kind), [_number(angle) for angle in angles[:5]], path)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise DataError(f"{path} is not a GRIDDESC file: {error}") from None
    return FileGrid(mapping, _between(x, dx, columns), _between(y, dy, rows))


def _griddesc_sections(lines: list[str]) -> Iterator[list[tuple[str, list[str]]]]:
    """Yield the coordinate systems, then the grids: each a name, and the values on the next line."""
    section: list[tuple[str, list[str]]] = []
    rows = iter(line.partition("!")[0] for line in lines)
    for row in rows:
        name = (shlex.split(row) or [""])[0].strip()
        if name:
            values = shlex.split(next(rows, "").replace(",", " "))
            section.append((name, [value.strip() for value in values]))
        elif section:
            yield section
            section = []
    if section:
        yield section


def _number(text: str) -> float:
    return float(text.upper().replace("D", "E"))


def is_projected(dataset: "xr.Dataset") -> bool:
    """Return whether a dataset has a grid mapping other than longitude and latitude."""
    return bool(_mapping_of(dataset).get("grid_mapping_name", _LONLAT) != _LONLAT)


def on_grid(dataset: "xr.Dataset", path: Path) -> tuple["xr.Dataset", FileGrid]:
    """Return a dataset on ascending coordinates with the names of its grid's dimensions, such as y and x, and its grid.

    Raises
    ------
    DataError
        For a dataset without a regular horizontal grid.
    """
    grid = grid_of_dataset(dataset, path)
    names = (_coordinate(dataset, path, wanted) for wanted in _axes_of(grid.mapping)[::-1])
    named = dataset.rename({old: new for old, new in zip(names, grid.mapping.dims, strict=True) if old != new})
    for dim in grid.mapping.dims:
        if named[dim].values[0] > named[dim].values[-1]:
            named = named.isel({dim: slice(None, None, -1)})
    return named, grid


def grid_of_dataset(dataset: "xr.Dataset", path: Path) -> FileGrid:
    """Return the grid of one-dimensional coordinates and their grid mapping; longitude and latitude without one."""
    mapping: GridMapping = MapProjection(_mapping_of(dataset)) if is_projected(dataset) else LonLat()
    unit, axes = "deg" if mapping.unit == "degrees" else "m", []
    for wanted in _axes_of(mapping):
        values = dataset[_coordinate(dataset, path, wanted)]
        change = conversion(values.attrs, unit, f"{path}: its {wanted[0]}")
        axes.append(np.sort(np.asarray(values, np.float64) * change.factor + change.offset))
    x, y = axes
    return FileGrid(
        mapping, _faces(x[None], 1, path, unit=mapping.unit), _faces(y[:, None], 0, path, unit=mapping.unit)
    )


def _mapping_of(dataset: "xr.Dataset") -> dict[str, Any]:
    """Return the attributes of the grid mapping of a dataset; none without one."""
    mappings = [each.attrs for each in dataset.variables.values() if "grid_mapping_name" in each.attrs]
    return {str(name): value for name, value in (mappings[0] if mappings else {}).items() if name != "_FillValue"}


def _axes_of(mapping: GridMapping) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the standard names that x and y of a mapping may have."""
    if isinstance(mapping, LonLat):
        return _X_NAMES[2:], _Y_NAMES[2:]
    return _X_NAMES[:2], _Y_NAMES[:2]


def _coordinate(dataset: "xr.Dataset", path: Path, wanted: tuple[str, ...]) -> str:
    """Return the name of the one-dimensional coordinate with one of some standard names."""
    for name, each in dataset.variables.items():
        if each.ndim == 1 and standard_name(str(name), each.attrs) in wanted:
            return str(name)
    raise DataError(
        f"{path} has no one-dimensional coordinate {' or '.join(wanted)}, so its grid is not regular; give "
        "grid.projection, grid.area and grid.spacing instead"
    )


def standard_name(name: str, attributes: Mapping[Any, Any]) -> str:
    """Return the standard name of a coordinate, from its units or its name where it lacks the attribute."""
    by_units = _STANDARD_NAMES.get(str(attributes.get("units", "")), _STANDARD_NAMES.get(name, name))
    return str(attributes.get("standard_name", by_units))


def _faces(centres: Array, axis: int, path: Path, spacing: float | None = None, unit: str = "m") -> Array:
    """Return the faces of uniform cells around centres, which agree along the other axis; raise DataError otherwise."""
    line, count = centres.mean(axis=1 - axis), centres.shape[axis]
    if count < 2:
        raise DataError(f"{path}: its grid has {count} cell along one side; it needs two or more")
    found = float(line[-1] - line[0]) / (count - 1)
    size = found if spacing is None else spacing
    start = float(np.mean(line - size * np.arange(count)))
    gap = float(np.abs(centres - np.expand_dims(start + size * np.arange(count), 1 - axis)).max())
    round_off = _ROUND_OFF * (np.radians(EARTH_RADIUS) if unit == "m" else 1.0)
    if not size > 0.0 or not gap <= max(_UNIFORM, 1e-5 * count) * size + round_off:
        raise DataError(
            f"{path}: its cells are not uniform in its projection: a centre is {gap:.3g} off a spacing of {size:.6g}; "
            "check the attributes of the projection"
        )
    return start + size * (np.arange(count + 1) - 0.5)
