"""Flows and shapes on the sphere: rotation about any axis, deformation that turns back, and what they carry.

Longitudes and latitudes are in radians here, a unit of time is a fifth of the length of a flow. Sources: Nair &
Lauritzen 2010, J. Comput. Phys. 229, 8868-8887; Lauritzen, Skamarock, Prather & Taylor 2012, Geosci. Model Dev. 5,
887-901.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr

from airshed.core.constants import EARTH_RADIUS
from airshed.grid import Grid
from airshed.verify.transport.flow import DAY, Array, corner_winds

LENGTH: Final = 5.0 * DAY
"""How long every flow lasts [s]; Nair & Lauritzen's T = 5 is then in days."""

TRACERS: Final = ("HILLS", "BELLS", "CORRELATED", "CYLINDERS", "UNIFORM")
"""What is carried: Gaussian hills, cosine bells, a quadratic function of these, slotted cylinders, and 1 everywhere."""

BACKGROUND: Final = {"HILLS": 0.0, "BELLS": 0.1, "CORRELATED": 0.892, "CYLINDERS": 0.1, "UNIFORM": 1.0}
"""What is around the shapes, and what flows in."""

Point = tuple[float, float]
Stream = Callable[[Array, Array, float], Array]


def correlated(bells: Array) -> Array:
    """Return the tracer that is tied to the bells: 0.9 - 0.8 q^2 (Lauritzen et al. 2012, section 3.5)."""
    return np.asarray(0.9 - 0.8 * bells**2)


def unit_vector(lon: Array | float, lat: Array | float) -> Array:
    """Return the points of the unit sphere at longitudes and latitudes, (3, ...)."""
    return np.stack(np.broadcast_arrays(np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)))


def shapes(lon: Array, lat: Array, centres: Sequence[Point], radius: float = 0.5) -> Array:
    """Return the tracers at points, (tracer, ...), as the sum of a shape at each centre.

    With r the distance on the sphere and X in space, in units of the radius: hills 0.95 exp(-5/4 |X - X_i|^2), bells
    0.1 + 0.9 (1 + cos(pi r))/2, cylinders 1 within r = 1 but for a slot |lon - lon_i| < 1/6, which opens to the north
    for the first centre, to the south for the second; 0.1 around.
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
    """A flow without divergence in a part of the sphere, and the shapes to put into it.

    area     (west, east), (south, north) [degrees]          stream  psi(lon, lat, t) [m2/s], t in 0..1 of LENGTH
    centres  of the shapes at the start [radians], radius of the shapes [radians]
    axis, angle  of the rotation that brings the shapes at the start to where they are at the end
    instants how often the wind is given; linear in between
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
        lon, lat = np.meshgrid(np.radians(grid.x_faces), np.radians(grid.y_faces))

        def at(seconds: float) -> xr.Dataset:
            return corner_winds(self.stream(lon, lat, seconds / LENGTH), grid)

        return at if self.instants > 1 else at(0.0)

    def exact(self, grid: Grid, turned: float = 1.0) -> Array:
        """Return the tracers at cell centres (tracer, lat, lon) at the start (turned = 0) or the end (1)."""
        lon, lat = np.meshgrid(np.radians(grid.x), np.radians(grid.y))
        if self.angle * turned != 0.0:
            x, y, z = rotated(unit_vector(lon, lat), self.axis, -self.angle * turned)
            back = np.arctan2(y, x)
            lon = back + 2.0 * np.pi * np.round((self.centres[0][0] - back) / (2.0 * np.pi))
            lat = np.arcsin(np.clip(z, -1.0, 1.0))
        return shapes(lon, lat, self.centres, self.radius)


def rotated(points: Array, axis: Point, angle: float) -> Array:
    """Return points (3, ...) turned about an axis, anticlockwise seen from outside (Rodrigues' formula)."""
    pole = unit_vector(*axis)
    along = np.tensordot(pole, points, 1)
    across = np.cross(pole, points, axisb=0, axisc=0)
    parallel = pole[:, None, None] * along
    return np.asarray(parallel + np.cos(angle) * (points - parallel) + np.sin(angle) * across)


def solid(axis: Point, angle: float) -> Stream:
    """Return the stream function of a solid-body rotation about an axis by an angle in the whole time."""
    pole, speed = unit_vector(*axis), EARTH_RADIUS**2 * angle / LENGTH

    def stream(lon: Array, lat: Array, _: float) -> Array:
        return np.asarray(-speed * np.tensordot(pole, unit_vector(lon, lat), 1))

    return stream


def deformation(strength: float, waves: float, drift: float = 0.0) -> Stream:
    """Return psi = K cos(pi t) sin^2(waves lon') cos^2(lat) - background sin(lat), lon' moving by `drift` in all.

    waves 1/2 and strength 2.4: case 1 of Nair & Lauritzen 2010; 1 and 2: case 2; with a drift of a whole turn case 4.
    """
    speed = EARTH_RADIUS**2 / LENGTH

    def stream(lon: Array, lat: Array, time: float) -> Array:
        still = lon - drift * (time - 0.5)  # at half time, when all is stretched most, it lies as without a drift
        vortices = 5.0 * strength * np.cos(np.pi * time) * (np.sin(waves * still) * np.cos(lat)) ** 2
        return np.asarray(speed * (vortices - drift * np.sin(lat)))

    return stream


def _flows() -> tuple[SphereFlow, ...]:
    """Return the flows, with areas in which what is carried stays."""
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
