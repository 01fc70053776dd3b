"""Map projections: Lambert, polar stereographic, Mercator, rotated pole, and every other grid mapping of CF, by PROJ.

source  PROJ contributors 2025, PROJ coordinate transformation software library, https://proj.org
        Eaton et al. 2023, NetCDF Climate and Forecast Metadata Conventions 1.11, appendix F
"""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.grid.axes import Attributes
from airshed.grid.mapping import GridMapping

if TYPE_CHECKING:
    from pyproj import Transformer

ROTATED: Final = "rotated_latitude_longitude"
_CENTRES: Final = (
    "longitude_of_central_meridian", "longitude_of_projection_origin", "straight_vertical_longitude_from_pole",
)  # fmt: skip


class MapProjection(GridMapping):
    """Projection x, y of a sphere onto a plane [m], or a longitude-latitude frame with a rotated pole [degrees].

    Parameters
    ----------
    parameters : mapping
        Attributes of a CF grid mapping: ``grid_mapping_name``, ``standard_parallel``, ``earth_radius`` [m] ...

    Raises
    ------
    CaseError
        For a grid mapping that PROJ does not have, or that lacks a parameter.
    """

    def __init__(self, parameters: Attributes) -> None:
        given = {name: _plain(value) for name, value in parameters.items()}
        self.parameters = {"earth_radius": GridMapping.radius, **given}
        self.radius = _number(self.parameters["earth_radius"])
        self.is_rotated = self.parameters["grid_mapping_name"] == ROTATED
        self.unit, self.period = ("degrees", 360.0) if self.is_rotated else ("m", np.inf)
        self.centre = self._centre()
        _ = self._transformer  # an impossible projection is refused here

    @cached_property
    def _transformer(self) -> "Transformer":
        from pyproj import CRS, Transformer
        from pyproj.exceptions import ProjError

        try:
            crs = CRS.from_cf(dict(self.parameters))
            return Transformer.from_crs(crs.source_crs if self.is_rotated else crs.geodetic_crs, crs, always_xy=True)
        except (ProjError, KeyError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise CaseError(f"projection {self.parameters['grid_mapping_name']}: {reason}") from None

    def _centre(self) -> float:
        """Return the longitude in the middle of the map [degrees]: longitudes lie within half a turn of it."""
        if self.is_rotated:
            return _number(self.parameters["grid_north_pole_longitude"]) + 180.0
        return next((_number(self.parameters[name]) for name in _CENTRES if name in self.parameters), 0.0)

    def to_lonlat(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return longitude and latitude [degrees] of points; infinite where the projection has none."""
        lon, lat = self._transformer.transform(x, y, direction="INVERSE")
        return (np.asarray(lon) - self.centre + 180.0) % 360.0 - 180.0 + self.centre, np.asarray(lat)

    def from_lonlat(self, lon: Array, lat: Array) -> tuple[Array, Array]:
        """Return x and y of points given in degrees; infinite where the projection has none."""
        x, y = self._transformer.transform(lon, lat)
        return np.asarray(x), np.asarray(y)

    def attributes(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the CF attributes of y and x."""
        of_plane, of_frame = "projection_{}_coordinate", "grid_{}itude"
        names = [of_frame.format(each) for each in ("lat", "long")] if self.is_rotated else [
            of_plane.format(each) for each in ("y", "x")
        ]  # fmt: skip
        of_y, of_x = (
            {"standard_name": name, "long_name": name.replace("_", " "), "units": self.unit} for name in names
        )
        return {**of_y, "axis": "Y"}, {**of_x, "axis": "X"}

    def describe(self) -> str:
        """Return the projection in words: lambert conformal conic on a sphere of 6370 km."""
        name = str(self.parameters["grid_mapping_name"]).replace("_", " ")
        return f"{name} on a sphere of {self.radius / 1e3:g} km"


def _plain(value: Any) -> str | float | tuple[float, ...]:
    """Return an attribute as a text, a number, or several numbers."""
    if isinstance(value, str):
        return value
    numbers = tuple(np.ravel(np.asarray(value, np.float64)).tolist())
    return numbers[0] if len(numbers) == 1 else numbers


def _number(value: str | float | tuple[float, ...]) -> float:
    """Return an attribute that is one number."""
    if isinstance(value, tuple | str):
        raise CaseError(f"projection: {value} must be one number")
    return value


def projection(
    kind: str, lon: float, lat: float, parallels: tuple[float, ...] = (), radius: float = GridMapping.radius
) -> MapProjection:
    """Return the projection of a kind that case files name.

    Parameters
    ----------
    kind : str
        "lambert", "polar stereographic", "mercator" or "rotated pole".
    lon, lat : float
        Origin of x and y [degrees]; of "rotated pole", the north pole of the rotated frame.
    parallels : tuple of float
        Latitudes of true scale [degrees]: one or two for "lambert", one for the others; by default ``lat``.
    radius : float
        Radius of the sphere [m].
    """
    own: dict[str, Any]
    if kind == "lambert":
        own = {
            "grid_mapping_name": "lambert_conformal_conic", "longitude_of_central_meridian": lon,
            "latitude_of_projection_origin": lat, "standard_parallel": tuple(parallels) or (lat,),
        }  # fmt: skip
    elif kind == "polar stereographic":
        north = (parallels or (lat,))[0] >= 0.0
        own = {
            "grid_mapping_name": "polar_stereographic", "straight_vertical_longitude_from_pole": lon,
            "latitude_of_projection_origin": 90.0 if north else -90.0, "standard_parallel": (parallels or (lat,))[0],
        }  # fmt: skip
    elif kind == "mercator":
        own = {
            "grid_mapping_name": "mercator", "longitude_of_projection_origin": lon,
            "standard_parallel": (parallels or (lat,))[0],
        }  # fmt: skip
    else:
        own = {"grid_mapping_name": ROTATED, "grid_north_pole_longitude": lon, "grid_north_pole_latitude": lat}
    own |= {} if kind == "rotated pole" else {"false_easting": 0.0, "false_northing": 0.0}
    return MapProjection({**own, "earth_radius": radius})
