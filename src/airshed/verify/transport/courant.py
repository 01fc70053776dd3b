"""The largest Courant number at which the compiled two-step scheme stays positive, bounded and stable, by bisection.

A Courant number is the sum over the directions: all air that leaves a cell in a step over what is in it, in the cell
where that is greatest. It is what `time.courant` bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.kernels.transport.reference import AirFluxes
from airshed.process.vertical import outflow_rate, upward_air_flux
from airshed.verify.figure import Figure
from airshed.verify.transport.driven import Driven
from airshed.verify.transport.flow import Array

CRITERIA: Final = ("positive", "bounded", "stable")
DATA: Final = ("smooth", "rough")
_SLACK: Final = 1e-12
_BLOWN_UP: Final = 2.0
_MOST: Final = 2.0


@dataclass(frozen=True)
class Bench:
    """A flow in a box of cells with air content 1, scaled so that a step of length nu has the Courant number nu."""

    text: str
    fluxes: AirFluxes
    steps: int

    @property
    def shape(self) -> tuple[int, ...]:
        """(level, lat, lon)."""
        return self.fluxes.upward.shape


@dataclass(frozen=True)
class Outcome:
    """What a run at one Courant number has done to smooth and to rough data: share clipped, and greatest value."""

    clipped: Array
    greatest: Array

    def keeps(self, criterion: str) -> Array:
        """Return for each data whether it kept a criterion.

        positive  nothing was negative before clipping, to 1e-12 of the amount
        bounded   at no step a value above the greatest of the start, to 1e-12
        stable    never more than twice the greatest of the start
        """
        if criterion == "positive":
            return np.asarray(self.clipped <= _SLACK)
        return np.asarray(self.greatest <= (1.0 + _SLACK if criterion == "bounded" else _BLOWN_UP))


def _scaled(text: str, eastward: Array, northward: Array, steps: int) -> Bench:
    shape = (eastward.shape[0], eastward.shape[1], northward.shape[2])
    upward = upward_air_flux(eastward, northward, np.zeros(shape))
    scale = outflow_rate(eastward, northward, upward, np.ones(shape)).max()
    return Bench(text, AirFluxes(eastward / scale, northward / scale, upward / scale), steps)


def row(cells: int = 240) -> Bench:
    """Return a uniform wind along a row of cells."""
    return _scaled("1-D, uniform wind", np.ones((1, 1, cells + 1)), np.zeros((1, 2, cells)), 160)


def oblique(cells: int = 64) -> Bench:
    """Return a uniform wind across a square, twice as strong to the east as to the north."""
    east, north = np.full((1, cells, cells + 1), 2.0), np.full((1, cells + 1, cells), 1.0)
    return _scaled("2-D, uniform oblique wind", east, north, 80)


def eddies(cells: int = 48) -> Bench:
    """Return four closed eddies in a square."""
    faces = np.linspace(0.0, 2.0 * np.pi, cells + 1)
    psi = np.sin(faces)[:, None] * np.sin(faces)
    return _scaled("2-D, closed eddies", -np.diff(psi, axis=0)[None], np.diff(psi, axis=1)[None], 240)


def overturning(cells: int = 20, levels: int = 16) -> Bench:
    """Return a closed flow in a cube: an eddy that fades upward, and air that rises here and sinks there."""
    faces, height = np.linspace(0.0, np.pi, cells + 1), np.linspace(0.0, np.pi, levels + 1)
    middle = 0.5 * (faces[1:] + faces[:-1])
    psi = np.cos(0.25 * (height[1:] + height[:-1]))[:, None, None] * np.sin(faces)[:, None] * np.sin(faces)
    rolls = -np.diff(np.sin(height))[:, None, None]
    east = -np.diff(psi, axis=1) + rolls * np.sin(middle)[:, None] * np.sin(faces)
    north = np.diff(psi, axis=2) + rolls * np.sin(faces)[:, None] * np.sin(2.0 * middle)
    return _scaled("3-D, closed overturning", east, north, 160)


BENCHES: Final[tuple[Callable[[], Bench], ...]] = (row, oblique, eddies, overturning)


def initial_data(shape: tuple[int, ...]) -> Array:
    """Return smooth and rough data in the south-west part of a box, (2, level, lat, lon), at most 1.

    smooth  a Gaussian with a standard deviation of five cells, or a seventh of the side, cut off at 0
    rough   random values over eight decades, every other one zero
    """
    random = np.random.default_rng(7)
    squares, inside = np.zeros(shape), np.ones(shape, dtype=bool)
    for axis, count in enumerate(shape):
        if count > 1:
            places = np.arange(count) - round(0.3 * count)
            along = np.expand_dims(places, tuple(other for other in range(3) if other != axis))
            squares = squares + (along / min(5.0, count / 7.0)) ** 2
            inside = inside & (np.abs(along) < 0.2 * count)
    smooth = np.maximum(np.exp(-0.5 * squares) - np.exp(-0.5 * 3.0**2), 0.0)
    rough = 10.0 ** random.uniform(-8.0, 0.0, shape) * (random.random(shape) < 0.5) * inside
    return np.stack([smooth / smooth.max(), rough / rough.max()])


def attempt(bench: Bench, courant: float) -> Outcome:
    """Run the data through a flow with steps of one Courant number; the first step is an Euler step."""
    q = initial_data(bench.shape)
    driven = Driven("tracer", q, np.ones(bench.shape), np.zeros(2), np.ones(bench.shape[0]))
    greatest = np.ones(2)
    for _ in range(bench.steps):
        driven.step(bench.fluxes, courant)
        greatest = np.maximum(greatest, driven.q.max(axis=(1, 2, 3)))
        if greatest.min() > _BLOWN_UP:
            break
    return Outcome(driven.clipped / q.sum(axis=(1, 2, 3)), greatest)


def largest(bench: Bench, halvings: int = 9) -> dict[str, dict[str, float]]:
    """Return for each criterion and data the Courant number up to which it holds, to 2^-halvings; 2 at most.

    Taken as one number: it is assumed that what holds at a step holds at shorter ones.
    """
    seen: dict[float, Outcome] = {}
    found: dict[str, dict[str, float]] = {}
    for criterion in CRITERIA:
        found[criterion] = {}
        for number, name in enumerate(DATA):
            low, high = 0.0, _MOST
            for _ in range(halvings + 1):
                courant = 0.5 * (low + high)
                if courant not in seen:
                    seen[courant] = attempt(bench, courant)
                low, high = (courant, high) if seen[courant].keeps(criterion)[number] else (low, courant)
            found[criterion][name] = low
    return found


def linear_limit(halvings: int = 30) -> float:
    """Return the Courant number up to which the scheme without limiter is stable for every wave (von Neumann).

    With z = nu times the symbol of the kappa = 1/3 differences, both roots of the two-step formula must keep

        (3/2) g^2 - 2 g + 1/2 = z (2 g - 1),     |g| <= 1.

    In several directions z is a sum, and waves alike in all of them are the worst: the limit holds for the sum of the
    Courant numbers.
    """
    theta = np.linspace(0.0, np.pi, 2001)[1:]
    shift = np.exp(-1j * theta)
    # q_face = q_i + (q_(i+1) - q_i)/3 + (q_i - q_(i-1))/6, and the difference of two faces
    symbol = -(1.0 + (1.0 / shift - 1.0) / 3.0 + (1.0 - shift) / 6.0) * (1.0 - shift)
    low, high = 0.0, _MOST
    for _ in range(halvings):
        courant = 0.5 * (low + high)
        half = 2.0 + 2.0 * courant * symbol
        root = np.sqrt(half**2 - 6.0 * (0.5 + courant * symbol))
        radius = np.maximum(np.abs(half + root), np.abs(half - root)).max() / 3.0
        low, high = (courant, high) if radius <= 1.0 + 1e-9 else (low, courant)
    return low


def check() -> list[Figure]:
    """Return what the default Courant number, 0.4, and the largest allowed, 0.5, do in one and in two dimensions."""
    figures = []
    for bench in (row(), eddies()):
        usual, most = attempt(bench, 0.4), attempt(bench, 0.5)
        test, greatest = f"Courant numbers, {bench.text}", float(most.greatest.max())
        figures += [
            Figure(test, "0.4: smooth data clipped", float(usual.clipped[0]), _SLACK, reference="exact: 0"),
            Figure(test, "0.4: rough data clipped", float(usual.clipped[1]), 1e-9, reference="exact: 0, kernels.md"),
            Figure(test, "0.5: greatest value over the first", greatest, 1.0 + _SLACK, reference="exact: 1"),
        ]
    return figures
