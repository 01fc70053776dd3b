"""Flows and shapes on the sphere: rotation about any axis, and deformation that reverses at half time.

Longitudes and latitudes are in radians here; the unit of time is a fifth of the length of a flow. Sources: Nair &
Lauritzen 2010, J. Comput. Phys. 229, 8868-8887; Lauritzen, Skamarock, Prather & Taylor 2012, Geosci. Model Dev. 5,
887-901.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import xarray as xr

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.grid import Grid
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure, observed_order
from airshed.verify.transport.plane import DAY, Errors, amount, clipped_share, corner_winds, tracer_case

LENGTH: Final = 5.0 * DAY
"""Length of every flow [s]; T = 5 of Nair & Lauritzen is then in days."""

TRACERS: Final = ("HILLS", "BELLS", "CORRELATED", "CYLINDERS", "UNIFORM")
"""Tracers: Gaussian hills, cosine bells, a quadratic function of these, slotted cylinders, and 1 everywhere."""

BACKGROUND: Final = {"HILLS": 0.0, "BELLS": 0.1, "CORRELATED": 0.892, "CYLINDERS": 0.1, "UNIFORM": 1.0}
"""Mixing ratios around the shapes and at the boundary."""

Point = tuple[float, float]
Stream = Callable[[Array, Array, float], Array]


def correlated(bells: Array) -> Array:
    """Return the tracer that is correlated with the bells: 0.9 - 0.8 q^2 (Lauritzen et al. 2012, section 3.5)."""
    return np.asarray(0.9 - 0.8 * bells**2)


def unit_vector(lon: Array | float, lat: Array | float) -> Array:
    """Return the points of the unit sphere at longitudes and latitudes, (3, ...)."""
    return np.stack(np.broadcast_arrays(np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)))


def shapes(lon: Array, lat: Array, centres: Sequence[Point], radius: float = 0.5) -> Array:
    """Return the tracers at points, (tracer, ...), as the sum of a shape at each centre.

    With the distance r on the sphere and the position X in space, in units of the radius: hills are
    0.95 exp(-5/4 |X - X_i|^2), and bells 0.1 + 0.9 (1 + cos(pi r))/2. Cylinders are 1 within r = 1, except for a slot
    |lon - lon_i| < 1/6, which opens to the north for the first centre, to the south for the second; 0.1 around.
    """
    here = unit_vector(lon, lat)
    hills, bells, inside = (np.zeros(here.shape[1:]) for _ in range(3))
    for number, (lon_i, lat_i) in enumerate(centres):
        chord = np.sqrt(np.sum((here - unit_vector(lon_i, lat_i)[:, None, None]) ** 2, axis=0))
        distance = 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0)) / radius
        hills += 0.95 * np.exp(-1.25 * (chord / radius) ** 2)
        bells += 0.5 * (1.0 + np.cos(np.pi * np.minimum(distance, 1.0)))
        towards_end = (lat - lat_i) / radius * (1.0 if number % 2 else -1.0)
        slot = (np.abs(lon - lon_i) / radius < 1.0 / 6.0) & (towards_end <= 5.0 / 12.0)
        inside += (distance <= 1.0) & ~slot
    bells = 0.1 + 0.9 * bells
    return np.stack([hills, bells, correlated(bells), 0.1 + 0.9 * inside, np.ones_like(hills)])


@dataclass(frozen=True)
class SphereFlow:
    """Flow without divergence in a part of the sphere, and its initial shapes.

    area         (west, east), (south, north) [degrees]
    stream       stream function psi(lon, lat, t) [m2/s], t in 0..1 of LENGTH
    centres      initial centres of the shapes [radians]
    radius       radius of the shapes [radians]
    axis, angle  rotation of the exact end state relative to the initial state
    instants     number of winds in time; linear in between
    """

    name: str
    text: str
    area: tuple[Point, Point]
    stream: Stream
    centres: Sequence[Point]
    radius: float = 0.5
    axis: Point = (0.0, 0.5 * np.pi)
    angle: float = 0.0
    instants: int = 1

    def winds(self, grid: Grid) -> xr.Dataset | Callable[[float], xr.Dataset]:
        """Return the winds at the faces of a grid: steady, or a function of the seconds."""
        lon, lat = np.radians(grid.corner_lon), np.radians(grid.corner_lat)

        def at(seconds: float) -> xr.Dataset:
            return corner_winds(self.stream(lon, lat, seconds / LENGTH), grid)

        return at if self.instants > 1 else at(0.0)

    def exact(self, grid: Grid, turned: float = 1.0) -> Array:
        """Return the tracers at cell centres (tracer, row, column) at the start (turned = 0) or the end (1)."""
        lon, lat = np.radians(grid.lon), np.radians(grid.lat)
        if self.angle * turned != 0.0:
            x, y, z = rotated(unit_vector(lon, lat), self.axis, -self.angle * turned)
            back = np.arctan2(y, x)
            lon = back + 2.0 * np.pi * np.round((self.centres[0][0] - back) / (2.0 * np.pi))
            lat = np.arcsin(np.clip(z, -1.0, 1.0))
        return shapes(lon, lat, self.centres, self.radius)


def rotated(points: Array, axis: Point, angle: float) -> Array:
    """Return points (3, ...) rotated about an axis, anticlockwise seen from outside (Rodrigues' formula)."""
    pole = unit_vector(*axis)
    along = np.tensordot(pole, points, 1)
    across = np.cross(pole, points, axisb=0, axisc=0)
    parallel = pole[:, None, None] * along
    return np.asarray(parallel + np.cos(angle) * (points - parallel) + np.sin(angle) * across)


def solid(axis: Point, angle: float) -> Stream:
    """Return the stream function of a solid-body rotation about an axis, with the angle at the end."""
    pole, speed = unit_vector(*axis), EARTH_RADIUS**2 * angle / LENGTH

    def stream(lon: Array, lat: Array, _: float) -> Array:
        return np.asarray(-speed * np.tensordot(pole, unit_vector(lon, lat), 1))

    return stream


def deformation(strength: float, waves: float, drift: float = 0.0) -> Stream:
    """Return psi = K cos(pi t) sin^2(waves lon') cos^2(lat) - background sin(lat), lon' moving by `drift` in total.

    waves 1/2 and strength 2.4: case 1 of Nair & Lauritzen 2010; 1 and 2: case 2; with a drift of a whole turn case 4.
    """
    speed = EARTH_RADIUS**2 / LENGTH

    def stream(lon: Array, lat: Array, time: float) -> Array:
        still = lon - drift * (time - 0.5)  # no drift at half time, with the largest deformation
        vortices = 5.0 * strength * np.cos(np.pi * time) * (np.sin(waves * still) * np.cos(lat)) ** 2
        return np.asarray(speed * (vortices - drift * np.sin(lat)))

    return stream


def _flows() -> tuple[SphereFlow, ...]:
    """Return the flows, with areas that the shapes do not leave."""
    degree = np.pi / 180.0
    middle, slanted = (0.0, 40.0 * degree), (180.0 * degree, 45.0 * degree)
    start = -30.0 * degree
    slope = rotated(unit_vector(0.0, 0.0)[:, None, None], slanted, start)[:, 0, 0]
    west = float(np.arctan2(slope[1], slope[0])), float(np.arcsin(slope[2]))
    pair = ((5.0 / 6.0 * np.pi, 0.0), (7.0 / 6.0 * np.pi, 0.0))
    whole = ((0.0, 360.0), (-90.0, 90.0))
    drift = 36.0 * degree
    return (
        SphereFlow(
            "turn", "one turn about 0 E 40 N", ((-48.0, 48.0), (10.0, 70.0)), solid(middle, 2.0 * np.pi),
            ((0.0, 30.0 * degree),), 8.0 * degree, middle, 2.0 * np.pi,
        ),
        SphereFlow(
            "slant", "60 degrees along a great circle that crosses the equator at 45 degrees", ((-48.0, 48.0),) * 2,
            solid(slanted, 60.0 * degree), (west,), 10.0 * degree, slanted, 60.0 * degree,
        ),
        SphereFlow(
            "one vortex", "case 1: one vortex in each hemisphere", whole, deformation(2.4, 0.5),
            ((np.pi, np.pi / 3.0), (np.pi, -np.pi / 3.0)), instants=24,
        ),
        SphereFlow("two vortices", "case 2: two vortices", whole, deformation(2.0, 1.0), pair, instants=24),
        SphereFlow(
            "moving vortices", "case 4 with a background that carries all by 36 degrees, not 360",
            ((0.0, 360.0), (-84.0, 84.0)), deformation(2.0, 1.0, drift),
            tuple((lon - 0.5 * drift, lat) for lon, lat in pair), angle=drift, instants=96,
        ),
    )  # fmt: skip


FLOWS: Final = {flow.name: flow for flow in _flows()}

OVER_POLE: Final = SphereFlow(
    "pole", "40 degrees along a meridian, over the pole", ((-180.0, 180.0), (50.0, 90.0)),
    solid((-0.5 * np.pi, 0.0), np.radians(40.0)), ((0.0, np.radians(70.0)),), np.radians(8.0),
    (-0.5 * np.pi, 0.0), np.radians(40.0),
)  # fmt: skip
"""Flow for polar stereographic grids."""

PROJECTED: Final[Mapping[str, tuple[SphereFlow, Mapping[str, Any], float]]] = {
    "Lambert": (FLOWS["turn"], {"kind": "lambert", "lat": 40.0, "parallels": [30.0, 50.0]}, 3600.0),
    "polar stereographic": (OVER_POLE, {"kind": "polar stereographic", "lat": 90.0}, 4800.0),
}
"""Flow, projection, and half the side [km] of the square grid of each check on a map projection."""


# Mixing of tracers with a nonlinear relation.


_LEAST, _MOST = BACKGROUND["BELLS"], 1.0
_RANGES: Final = _MOST - _LEAST, float(correlated(np.array(_LEAST)) - correlated(np.array(_MOST)))
_CURVATURE: Final = -0.8
_SLACK: Final = 1e-12


@dataclass(frozen=True)
class Mixing:
    """Mean distance from the curve of two correlated tracers, in units of their ranges, by kind of mixing.

    real          within the convex hull of the curve, as for mixing of air
    unmixing      outside of it, within the ranges of both tracers
    overshooting  outside of these ranges
    """

    real: float
    unmixing: float
    overshooting: float

    @classmethod
    def of(cls, bells: Array, tied: Array, area: Array) -> "Mixing":
        """Return the distances of all cells, weighted by their area."""
        weight = np.broadcast_to(area, bells.shape)
        shifted = distance_from_curve(bells, tied) * weight / weight.sum()
        low, high = correlated(np.array(_MOST)), correlated(np.array(_LEAST))
        inside = (bells >= _LEAST - _SLACK) & (bells <= _MOST + _SLACK)
        inside &= (tied >= low - _SLACK) & (tied <= high + _SLACK)
        chord = high + (bells - _LEAST) / _RANGES[0] * (low - high)
        hull = inside & (tied >= chord - _SLACK) & (tied <= correlated(bells) + _SLACK)
        return cls(*(float(shifted[cells].sum()) for cells in (hull, inside & ~hull, ~inside)))


def distance_from_curve(bells: Array, tied: Array) -> Array:
    """Return the shortest distance of pairs of tracers from the curve 0.9 - 0.8 q^2, each in units of its range.

    The foot of the perpendicular is the largest root of a cubic q^3 + p q + r, found by Newton's method from above.
    """
    ratio = (_RANGES[1] / _RANGES[0]) ** 2
    p = (ratio - 2.0 * _CURVATURE * (tied - 0.9)) / (2.0 * _CURVATURE**2)
    r = -bells * ratio / (2.0 * _CURVATURE**2)
    foot = np.full_like(bells, 3.0)
    for _ in range(30):
        foot = foot - (foot**3 + p * foot + r) / np.maximum(3.0 * foot**2 + p, 1e-12)
    foot = np.clip(foot, _LEAST, _MOST)
    return np.hypot((bells - foot) / _RANGES[0], (tied - correlated(foot)) / _RANGES[1])


# Shapes on the sphere in the complete model: norms, mass, extremes, order, mixing of correlated tracers.


_ROUND_OFF: Final = 1e-11
_FIRST: Final = "exact: 0; limit: 1.1 times the first measurement"
_NONE: Final = "exact: 0"
_SMOOTH: Final = "exact: 3 where smooth"
UNIFORM: Final = TRACERS.index("UNIFORM")
BELLS, TIED = TRACERS.index("BELLS"), TRACERS.index("CORRELATED")


@dataclass(frozen=True)
class SphereResult:
    """Tracers (tracer, lat, lon) at the start, at half time and at the end of a flow, and the exact end state.

    mass         relative change of the mass of each tracer, without boundary fluxes
    clipped      clipped fraction of the throughput of each tracer
    density      density (lat, lon) relative to the initial one, for divergent flows
    compression  ratio of the largest and smallest density at half time
    """

    start: Array
    middle: Array
    end: Array
    exact: Array
    area: Array
    steps: int
    mass: Array
    clipped: Array
    density: Array | None = None
    compression: float = 1.0

    def errors(self, tracer: int) -> Errors:
        """Return the errors of a tracer; the exact field bounds its range."""
        return Errors.of(self.end[tracer], self.exact[tracer], self.area)

    def new_extreme(self) -> float:
        """Return the largest relative excess of any tracer outside its range."""
        worst = 0.0
        for tracer in range(len(TRACERS)):
            start, around = self.start[tracer], BACKGROUND[TRACERS[tracer]]
            low, high = min(float(start.min()), around), max(float(start.max()), around)
            fields = np.stack([self.middle[tracer], self.end[tracer]])
            worst = max(worst, float(max(low - fields.min(), fields.max() - high)) / (high - low or 1.0))
        return worst

    @property
    def mixing(self) -> Mixing:
        """Mixing of the correlated pair at half time."""
        return Mixing.of(self.middle[BELLS], self.middle[TIED], self.area)


def turn(flow: SphereFlow, spacing: float, courant: float = 0.4) -> SphereResult:
    """Transport all tracers in a flow on cells of a spacing [degrees]; the background flows in at boundaries."""
    lon, lat = flow.area
    return turn_on({"area": {"lon": list(lon), "lat": list(lat)}, "spacing": f"{spacing!r} deg"}, flow, courant)


def turn_on(area: Mapping[str, Any], flow: SphereFlow, courant: float = 0.4) -> SphereResult:
    """Transport all tracers in a flow on any grid, given by settings of the section [grid]."""
    case = tracer_case(
        area,
        ["100 m"],
        time={"courant": courant, "length": f"{LENGTH!r} s"},
        chemistry={"mechanism": "sphere.spc"},
        boundary={"values": {name: f"{value!r} mol/mol" for name, value in BACKGROUND.items()}},
        meteorology={"every": f"{LENGTH / flow.instants!r} s"},
    )
    grid = case.make_grid()
    start = flow.exact(grid, 0.0)
    given = xr.Dataset({name: (grid.dims, field) for name, field in zip(TRACERS, start, strict=True)})
    with Simulation(case, flow.winds(grid), given) as simulation:
        before = np.array([amount(simulation, name) for name in TRACERS])
        simulation.run(until=0.5 * LENGTH)
        middle = _fields(simulation)
        simulation.run()
        after, budget = np.array([amount(simulation, name) for name in TRACERS]), simulation.budget()
        through = np.array([float((budget["outflow"] - budget["inflow"]).sel(species=name)) for name in TRACERS])
        clipped = np.array([clipped_share(simulation, name) for name in TRACERS])
        steps, end = simulation.model.steps, _fields(simulation)
    return SphereResult(
        start, middle, end, flow.exact(grid), grid.cell_area, steps, (after + through) / before - 1.0, clipped
    )


def _fields(simulation: Simulation) -> Array:
    return np.stack([simulation[name].values[0] for name in TRACERS])


def check_turn(spacings: tuple[float, float] = (2.0, 1.0)) -> list[Figure]:
    """Return the figures of a rotation about a point at 40 degrees north at the second spacing, and the order."""
    coarse, fine = (turn(FLOWS["turn"], spacing) for spacing in spacings)
    test = f"rotation on the sphere, {spacings[1]:g} degrees"
    order = observed_order(*(each.errors(TRACERS.index("HILLS")).l1 for each in (coarse, fine)))
    return [
        *figures_of_errors(test, fine, {"HILLS": 0.022, "BELLS": 0.0128, "CYLINDERS": 0.147}),
        Figure(test, f"order of l1, Gaussian, {spacings[0]:g} to {spacings[1]:g}", order, 2.4, True, _SMOOTH),
        *_figures_of_conservation(test, fine),
    ]


def turn_projected(name: str, spacing: float) -> SphereResult:
    """Transport all tracers on a projected grid of :data:`PROJECTED` with a spacing [km]."""
    flow, projection, half = PROJECTED[name]
    edges = [f"{-half!r} km", f"{half!r} km"]
    return turn_on(
        {"projection": projection, "area": {"x": edges, "y": edges}, "spacing": f"{spacing!r} km"}, flow, 0.3
    )


def check_projected(spacings: tuple[float, float] = (200.0, 100.0)) -> list[Figure]:
    """Return the figures of the rotation on a Lambert grid, and of a path over the pole on a stereographic one."""
    limits = {
        "Lambert": ({"HILLS": 0.0216, "BELLS": 0.0134, "CYLINDERS": 0.158}, 2.4),
        "polar stereographic": ({"HILLS": 0.0218, "BELLS": 0.0066, "CYLINDERS": 0.0588}, 2.1),
    }
    figures = []
    for name, (errors, least_order) in limits.items():
        coarse, fine = (turn_projected(name, spacing) for spacing in spacings)
        test = f"{PROJECTED[name][0].text}; {name} grid, {spacings[1]:g} km"
        order = observed_order(*(each.errors(TRACERS.index("HILLS")).l1 for each in (coarse, fine)))
        text = f"order of l1, Gaussian, {spacings[0]:g} to {spacings[1]:g} km"
        figures += [
            *figures_of_errors(test, fine, errors),
            Figure(test, text, order, least_order, True, _SMOOTH),
            *_figures_of_conservation(test, fine),
        ]
    return figures


def check_path(spacing: float = 1.5) -> list[Figure]:
    """Return the figures of transport along a tilted great circle, with inflow and outflow of air."""
    result, test = turn(FLOWS["slant"], spacing), f"great circle at 45 degrees, {spacing:g} degrees"
    return [
        *figures_of_errors(test, result, {"HILLS": 0.0347, "BELLS": 0.0144, "CYLINDERS": 0.141}),
        *_figures_of_conservation(test, result),
    ]


def check_deformation(spacings: Sequence[float] = (3.0,)) -> list[Figure]:
    """Return the figures of case 2 of Nair & Lauritzen, and the order if there is a second spacing."""
    results = [turn(FLOWS["two vortices"], spacing) for spacing in spacings]
    test, first, mixing = f"two vortices on the sphere, {spacings[0]:g} degrees", results[0], results[0].mixing
    figures = [
        *figures_of_errors(test, first, {"HILLS": 0.205, "BELLS": 0.176, "CYLINDERS": 0.367}),
        Figure(test, "real mixing", mixing.real, 6e-3, reference=_NONE),
        Figure(test, "range-preserving unmixing", mixing.unmixing, 1e-4, reference=_NONE),
        Figure(test, "overshooting", mixing.overshooting, _ROUND_OFF, reference=_NONE),
        *_figures_of_conservation(test, first),
    ]
    for coarse, fine in pairwise(results):
        order = observed_order(*(each.errors(TRACERS.index("HILLS")).l1 for each in (coarse, fine)))
        figures.append(Figure(test, "order of l1, Gaussian, to half the spacing", order, 1.6, True, _SMOOTH))
    return figures


def figures_of_errors(test: str, turned: SphereResult, limits: dict[str, float]) -> list[Figure]:
    """Return the l1 errors; their limits are the first measured errors, plus a tenth."""
    return [
        Figure(test, f"l1 of {name.lower()}", turned.errors(TRACERS.index(name)).l1, limit, reference=_FIRST)
        for name, limit in limits.items()
    ]


def figures_of_laws(test: str, turned: SphereResult, mass: str) -> list[Figure]:
    """Return the figures that should be 0: drift of the uniform tracer, change of mass, new extremes."""
    drift, change = float(np.abs(turned.end[UNIFORM] - 1.0).max()), float(np.abs(turned.mass).max())
    return [
        Figure(test, "uniform tracer, greatest deviation", drift, _ROUND_OFF, reference=_NONE),
        Figure(test, mass, change, 1e-12, reference=_NONE),
        Figure(test, "largest new extreme", turned.new_extreme(), _ROUND_OFF, reference=_NONE),
    ]


def _figures_of_conservation(test: str, turned: SphereResult) -> list[Figure]:
    clipped = float(turned.clipped.max())
    return [
        *figures_of_laws(test, turned, "change of mass, including boundary fluxes"),
        Figure(test, "clipped at zero, share of mass", clipped, 1e-12, reference=_NONE),
    ]
