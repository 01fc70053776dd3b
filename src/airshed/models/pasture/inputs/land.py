"""Land of inputs by the name of a region: cells, distance from the coast, gradients, and synthetic maps.

Between stations weather varies with latitude and with the distance d from the coast:

    reference = at the coast at 25 S + north (latitude + 25) + inland (1 - exp(-d / 200 km))
    rain      = 200 + 450 exp(-d / 600 km) + 700 exp(-d / 60 km)                                 [mm a year]

Weather between stations is scaled by the ratio of references (rain, evaporation, radiation, vapour pressure), or
shifted by their difference (temperatures).

The numbers are synthetic: rounded values of a least-squares fit to the means of 16 stations in the east of Queensland,
1900 to 2025. The root mean square errors are 0.67 and 0.63 degC, 0.34 MJ m-2, 0.28 mm and 0.55 hPa. The numbers for
rain are a visual fit to the same stations. They decrease towards the west, where there is no station.

The actual maps of Queensland (787 soils, 225 land types) are not public. A map here is a smooth random field with a
wavelength of about 100 km, divided at its quantiles, so that all classes have equal areas.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.core.topojson import Polygon
from airshed.grid.land import LandGrid, polygons_of
from airshed.grid.world import find_location
from airshed.models.pasture.classes import Land, cell_parameters, published, read_class
from airshed.models.pasture.fields import LAYERS

_REGIONS: Final = {
    "Queensland": ((138.0, 153.6), (-29.0, -10.4)),  # as in Rezny (1994): 156 x 186 cells of 0.1 degree
    "Australia": ((112.0, 154.0), (-44.0, -10.0)),
}
"""West and east, south and north [degrees]; the gradients between stations are valid for these regions."""
_COAST_STEP: Final = 0.05  # [degrees] between points of the coast, smaller than a cell
SOILS: Final = ("site67", "roselea", "capella")
PASTURES: Final = ("site67", "dalby", "capella")
"""Published classes of sites; "regression" is from test runs."""

GRADIENT_TEXT: Final = (
    "Between stations, weather follows synthetic gradients with latitude and distance from the coast "
    "(airshed.models.pasture.inputs.land)."
)
MAP_TEXT: Final = "Maps of soil, pasture and trees, and the state at the start, are synthetic (seed {seed})."
_HILLS: Final = 0.45  # [degrees], standard deviation of the filter
_MOST_TREES: Final = 12.0  # [m2 ha-1] with the rain of the coast
_WET_LIMIT: Final = 1350.0  # [mm a year], rain at the coast
_WATER: Final = 0.5  # fraction of the water between the lower and the drained upper limit
_POOLS: Final = {"green_leaf": 300.0, "green_stem": 300.0, "dead_leaf": 400.0, "dead_stem": 400.0, "litter": 500.0}
"""Initial dry matter [kg ha-1], typical of published runs."""

_MIDDLE: Final = -25.0  # [degrees]
_REACH: Final = 200.0  # [km] length scale of the effect of the coast

_LINEAR: Final[Mapping[str, tuple[float, float, float, float]]] = {
    "pan_evaporation": (4.5, 0.10, 1.4, 1.0),
    "radiation": (18.1, 0.14, 2.2, 1.0),
    "vapour_pressure": (19.6, 0.37, -5.3, 1.0),
    "min_temperature": (15.8, 0.46, -2.9, -50.0),
    "max_temperature": (25.9, 0.37, 3.2, -50.0),
}
"""Mean at the coast at 25 S, its change per degree to the north and far inland, and its minimum."""
NAMES: Final = ("rain", *_LINEAR)
"""Weather fields with a gradient."""
SHIFTED: Final = ("min_temperature", "max_temperature")
"""Fields that are shifted by the difference of references; other fields are scaled by their ratio."""


def reference(name: str, lat: Array, distance: Array) -> Array:
    """Return the mean of a weather field at latitudes [degrees] and distances from the coast [km]; rain is annual."""
    if name == "rain":
        return np.asarray(200.0 + 450.0 * np.exp(-distance / 600.0) + 700.0 * np.exp(-distance / 60.0))
    coast, north, inland, least = _LINEAR[name]
    effect = -np.expm1(-distance / _REACH)
    return np.asarray(np.maximum(coast + north * (lat - _MIDDLE) + inland * effect, least))


def land_grid(region: str, spacing: float) -> LandGrid:
    """Return the grid of "Queensland" or "Australia" with a spacing [degrees]; land cells have their centre on land.

    Raises CaseError for an unknown name, and for a spacing that does not divide the region.
    """
    name = region.strip().title()
    if name not in _REGIONS:
        raise CaseError(f"area = {region!r} is not known; {suggestion(name, _REGIONS)}")
    polygons = _queensland() if name == "Queensland" else find_location("Australia", "area").outline
    return LandGrid.regular(*_REGIONS[name], spacing, polygons)


def coast_distance(lat: npt.ArrayLike, lon: npt.ArrayLike) -> Array:
    """Return the distance of locations [degrees] from the coast of Australia [km]; state borders are not coast."""
    from scipy.spatial import KDTree

    chord, _ = KDTree(_on_sphere(*_coast().T)).query(_on_sphere(np.asarray(lon), np.asarray(lat)))
    return np.asarray(2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0)) * EARTH_RADIUS / 1000.0)


@cache
def _queensland() -> tuple[Polygon, ...]:
    text = files("airshed.models.pasture.inputs").joinpath("data/queensland.geojson").read_text(encoding="utf-8")
    (feature,) = json.loads(text)["features"]
    return tuple(polygons_of(feature["geometry"]["coordinates"], feature["geometry"]["type"]))


@cache
def _coast() -> Array:
    """Return points along the coast of Australia (points, 2): longitude, latitude [degrees]."""
    pieces = []
    for ring in (ring for polygon in find_location("Australia", "area").outline for ring in polygon):
        for start, end in pairwise(ring):
            count = max(int(np.abs(end - start).max() / _COAST_STEP), 1)
            pieces.append(start + (end - start) * np.linspace(0.0, 1.0, count, endpoint=False)[:, None])
    return np.concatenate(pieces)


def _on_sphere(lon: Array, lat: Array) -> Array:
    east, north = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)


def synthetic_land(grid: LandGrid, seed: int) -> dict[str, Any]:
    """Return the parts `soils`, `pastures`, `maps` and `initial` of inputs with synthetic land."""
    maps = synthetic_maps(grid, seed)
    soils, pastures = (
        {name: published(kind)[name] for name in names} for kind, names in (("soil", SOILS), ("pasture", PASTURES))
    )
    return {"soils": soils, "pastures": pastures, "maps": maps, "initial": initial_state(maps)}


def synthetic_maps(grid: LandGrid, seed: int) -> dict[str, npt.NDArray[Any]]:
    """Return soil_class, pasture_class, and tree_basal_area [m2 ha-1] of packed cells; trees increase with rain."""
    soil, pasture, trees = (_ranks(grid, seed, number) for number in range(3))
    rain = reference("rain", grid.cell_lat, coast_distance(grid.cell_lat, grid.cell_lon))
    return {
        "soil_class": (soil * len(SOILS)).astype(np.uint16),
        "pasture_class": (pasture * len(PASTURES)).astype(np.uint16),
        "tree_basal_area": np.round(_MOST_TREES * trees * np.minimum(rain / _WET_LIMIT, 1.0), 1),
    }


def initial_state(maps: Mapping[str, npt.NDArray[Any]]) -> dict[str, Array]:
    """Return the twelve fields of the initial state: water by soil, basal area by pasture, dry matter."""
    soil, pasture = maps["soil_class"], maps["pasture_class"]
    land = Land(
        [read_class("soil", published("soil")[name]) for name in SOILS],
        [read_class("pasture", published("pasture")[name]) for name in PASTURES],
    )
    given = cell_parameters(land, soil, pasture, np.zeros_like(soil))
    lower, upper = ([given[f"{name}_{n}"] for n in LAYERS] for name in ("lower_limit", "drained_upper_limit"))
    water = {f"water_{n}": low + _WATER * (high - low) for n, low, high in zip(LAYERS, lower, upper, strict=True)}
    basal = np.array([each.basal_area for each in land.pastures])[pasture]
    none = {name: np.zeros(len(soil)) for name in ("nitrogen_transpiration", "nitrogen_growth")}
    return {**water, **{name: np.full(len(soil), each) for name, each in _POOLS.items()}, "basal_area": basal, **none}


def _ranks(grid: LandGrid, seed: int, number: int) -> Array:
    """Return the ranks of packed cells in a smooth random field, as fractions 0 <= r < 1."""
    from scipy.ndimage import gaussian_filter

    noise = np.random.default_rng([seed, number]).standard_normal(grid.mask.shape)
    smooth = gaussian_filter(noise, _HILLS / float(np.diff(grid.lat[:2])[0])).ravel()[grid.index]
    ranks = np.empty(grid.cells)
    ranks[np.argsort(smooth, kind="stable")] = np.arange(grid.cells) / grid.cells
    return ranks
