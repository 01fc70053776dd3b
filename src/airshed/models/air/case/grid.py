"""The section [grid] of an air case: a projection with its edges and cells, or the grid of a file, and the layers."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    model_validator,
)

from airshed.case.values import PathText
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.settings import KEY, Section, Whole, quantity_range, refuse, setting
from airshed.core.text import quoted
from airshed.core.units import Quantity
from airshed.grid.grid import check_layer_tops, default_layers, uniform_faces
from airshed.grid.mapping import GridMapping, LonLat
from airshed.grid.projected import projection
from airshed.models.air.case.sections import Height, Latitude, Latitudes, Longitude, Longitudes

PROJECTIONS: Final = ("lambert", "polar stereographic", "mercator", "rotated pole")
CellSize = Annotated[Quantity, quantity_range("deg", "m", least=("1e-5 deg", "1 m"), most=("360 deg", "5000 km"))]
Edge = Annotated[Quantity, quantity_range("m", "deg", least=("-20000 km", "-360 deg"), most=("20000 km", "720 deg"))]
MOST_CELLS: Final = 1e9  # cells of a grid: with 66 species half a terabyte, more memory than any machine has


def _rising(given: Any, validate: ValidatorFunctionWrapHandler) -> tuple[Quantity, Quantity]:
    """Return two edges in one unit; report only the first fault."""
    try:
        value: tuple[Quantity, Quantity] = validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"] if first["type"] == "refused" else f"{KEY} must be two edges, each with a unit"
        raise refuse(message) from None
    if value[0].unit != value[1].unit or value[0].value >= value[1].value:
        raise refuse(f"{KEY} = {[each.text for each in value]} must run from the smaller to the larger, in one unit")
    return value


Edges = Annotated[tuple[Edge, Edge], WrapValidator(_rising)]


def _spacing(value: Any) -> Any:
    return {"lon": value, "lat": value} if isinstance(value, str | int | float | Quantity) else value


class ProjectionSection(Section):
    """The map projection of the grid, on a sphere. Without it x is longitude and y is latitude."""

    kind: Literal["longitude-latitude", "lambert", "polar stereographic", "mercator", "rotated pole"] = setting(
        "longitude-latitude", "The projection."
    )
    lon: Longitude = setting(0.0, "longitude of the origin of x; of `rotated pole`, of its north pole.", unit="deg",
                             only_for=PROJECTIONS)  # fmt: skip
    lat: Latitude = setting(0.0, "latitude of the origin of y; of `rotated pole`, of its north pole.", unit="deg",
                            only_for=PROJECTIONS)  # fmt: skip
    parallels: tuple[Latitude, ...] = setting(
        (), "latitudes of true scale: one or two for `lambert`, one for the others; `lat` without them.", unit="deg",
        only_for=PROJECTIONS[:3], max_length=2,
    )  # fmt: skip
    radius: Annotated[Quantity, quantity_range("m", least="6000 km", most="7000 km")] = setting(
        "6371 km", "radius of the sphere; that of WRF is 6370 km.", only_for=PROJECTIONS
    )

    def mapping(self) -> GridMapping:
        """Return the projection; raise CaseError for an impossible one."""
        if self.kind == "longitude-latitude":
            return LonLat()
        return projection(self.kind, self.lon, self.lat, self.parallels, self.radius.value)


class Area(Section):
    """The horizontal extent of the grid: longitude and latitude, or x and y of its projection."""

    lon: Longitudes | None = setting(None, "Western and eastern edge.", unit="deg")
    lat: Latitudes | None = setting(None, "Southern and northern edge.", unit="deg")
    x: Edges | None = setting(None, "Edges along x of a projection; angles for `rotated pole`.")
    y: Edges | None = setting(None, "Edges along y of a projection; angles for `rotated pole`.")

    @model_validator(mode="after")
    def _on_the_sphere(self) -> Self:
        if self.lon is not None and self.lon[1] - self.lon[0] > 360.0:
            raise refuse(f"{KEY}.lon = {list(self.lon)} spans more than 360 degrees")
        return self

    def edges(self, axis: str) -> tuple[float, float]:
        """Return the edges along "lon", "lat", "x" or "y" [degrees] or [m]."""
        found = getattr(self, axis)
        return (found[0], found[1]) if axis in ("lon", "lat") else (found[0].value, found[1].value)


class Spacing(Section):
    """The size of a cell."""

    lon: CellSize | None = setting(None, "Size of a cell along longitude or x; `spacing` may be one size for both.")
    lat: CellSize | None = setting(None, "Size of a cell along latitude or y.")


def _default_layers() -> tuple[str, ...]:
    return tuple(f"{top:g} m" for top in default_layers())


class _StatedGrid(Section):
    """Horizontal extent, size of the cells, and layers: stated here, or those of a file."""

    usual = ("area.lon", "area.lat", "spacing.lon", "spacing.lat")

    margin: Whole = setting(
        0, "With `from`: number of outer rows and columns of cells that are omitted at each side.", ge=0, le=10_000
    )
    projection: ProjectionSection = Field(default_factory=ProjectionSection)
    area: Area = Field(default_factory=Area)
    spacing: Annotated[Spacing, BeforeValidator(_spacing)] = Field(default_factory=Spacing)
    layers: tuple[Height, ...] = setting(_default_layers, "Heights of the layer tops above ground, lowest first.")

    @property
    def file(self) -> str | None:
        """The file whose horizontal grid is used."""
        found: str | None = getattr(self, "from")
        return found

    @property
    def axes(self) -> tuple[str, str]:
        """The names of the edges in ``area``."""
        return ("lon", "lat") if self.projection.kind == "longitude-latitude" else ("x", "y")

    def mapped(self) -> tuple[GridMapping, Array, Array]:
        """Return the stated projection and the faces of its cells; raise CaseError for an impossible projection."""
        mapping = self.projection.mapping()
        x, y = (
            uniform_faces(_AXES[axis], self.area.edges(axis), size.value, mapping.unit)
            for axis, size in zip(self.axes, (self.spacing.lon, self.spacing.lat), strict=True)
            if size is not None
        )
        return mapping, x, y

    @model_validator(mode="after")
    def _has_layers(self) -> Self:
        try:
            check_layer_tops(tuple(top.value for top in self.layers))
        except CaseError as error:
            raise refuse(f"{KEY}.layers: {error}") from error
        return self

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        default = {"area": Area(), "spacing": Spacing(), "projection": ProjectionSection()}
        stated = [name for name, value in default.items() if getattr(self, name) != value]
        if self.file is not None and stated:
            raise refuse(f"{KEY}.from gives the grid of {quoted(self.file)}; remove {KEY}.{stated[0]}")
        if self.file is None and self.margin:
            raise refuse(f"{KEY}.margin = {self.margin} removes cells of a file; give {KEY}.from, or remove it")
        for axis in () if self.file is not None else self.axes:
            if getattr(self.area, axis) is None:
                raise refuse(f"{KEY}.area.{axis} is missing: {_EDGES[axis]}")
        others = {"lon", "lat", "x", "y"} - {*self.axes}
        for axis in sorted(others & self.area.model_fields_set):
            raise refuse(
                f"{KEY}.area.{axis} is no edge of a {self.projection.kind} grid; give {' and '.join(self.axes)}"
            )
        return self

    @model_validator(mode="after")
    def _has_whole_cells(self) -> Self:
        if self.file is not None:
            return self
        count, unit = float(len(self.layers)), "m" if self.projection.kind in PROJECTIONS[:3] else "deg"
        for axis, name in zip(self.axes, ("lon", "lat"), strict=True):
            size = getattr(self.spacing, name)
            if size is None:
                raise refuse(f'{KEY}.spacing.{name} is missing: the size of a cell, such as {KEY}.spacing = "0.25 deg"')
            edges, low_high = self.area.edges(axis), getattr(self.area, axis)
            kind = f"{'a length' if unit == 'm' else 'an angle'} on a {self.projection.kind} grid"
            if size.unit != unit:
                raise refuse(f"{KEY}.spacing.{name} = {size.text!r} must be {kind}")
            if axis in ("x", "y") and low_high[0].unit != unit:
                raise refuse(f"{KEY}.area.{axis} = {low_high[0].text!r} must be {kind}")
            cells = (edges[1] - edges[0]) / size.value
            count *= cells
            if cells < 0.5 or abs(cells - round(cells)) > 1e-6 * cells:
                extent = f"{edges[1] - edges[0]:g} {'degrees' if unit == 'deg' else 'm'} of {KEY}.area.{axis}"
                raise refuse(f"{KEY}.spacing.{name} = {size.text!r} does not divide the {extent} into whole cells")
        if count > MOST_CELLS:
            raise refuse(f"{KEY} has {count:.3g} cells, more than {MOST_CELLS:.0e}; take a larger {KEY}.spacing")
        return self


_EDGES: Final = {
    "lon": "western and eastern edge", "lat": "southern and northern edge", "x": "edges along x", "y": "edges along y",
}  # fmt: skip
_AXES: Final = {"lon": "longitude", "lat": "latitude", "x": "x", "y": "y"}
_FROM: Final = setting(
    None,
    "A file whose horizontal grid is used in place of `projection`, `area` and `spacing`: output of WRF or WPS, an I/O "
    "API file, a grid of a GRIDDESC file (`GRIDDESC:NAME`), or a CF file with regular coordinates.",
)
if TYPE_CHECKING:

    class GridSection(_StatedGrid):
        """The grid, with its setting `from`."""

else:  # a keyword of Python names a setting
    GridSection = create_model(
        "GridSection", __base__=_StatedGrid, __doc__=_StatedGrid.__doc__, **{"from": (PathText | None, _FROM)}
    )
