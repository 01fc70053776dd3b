"""What the compiled two-step scheme makes of smooth and of rough data at a Courant number.

A Courant number is the sum over the directions: all air that leaves a cell in a step over what is in it, in the cell
where that is greatest. It is what `time.courant` bounds.
`validation/transport/limits.py` finds the largest ones by bisection.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.kernels.transport.reference import AirFluxes
from airshed.process.vertical import outflow_rate, upward_air_flux
from airshed.verify.figure import Figure
from airshed.verify.transport.driven import Driven
from airshed.verify.transport.flow import Array

SLACK: Final = 1e-12
"""Round-off, of the amount that is clipped and of the greatest value."""

BLOWN_UP: Final = 2.0
"""Greatest value, over that of the start, beyond which a run has become unstable."""


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


def scaled(text: str, eastward: Array, northward: Array, steps: int) -> Bench:
    """Return a flow of these air fluxes, for a number of steps."""
    shape = (eastward.shape[0], eastward.shape[1], northward.shape[2])
    upward = upward_air_flux(eastward, northward, np.zeros(shape))
    scale = outflow_rate(eastward, northward, upward, np.ones(shape)).max()
    return Bench(text, AirFluxes(eastward / scale, northward / scale, upward / scale), steps)


def row(cells: int = 240) -> Bench:
    """Return a uniform wind along a row of cells."""
    return scaled("1-D, uniform wind", np.ones((1, 1, cells + 1)), np.zeros((1, 2, cells)), 160)


def eddies(cells: int = 48) -> Bench:
    """Return four closed eddies in a square."""
    faces = np.linspace(0.0, 2.0 * np.pi, cells + 1)
    psi = np.sin(faces)[:, None] * np.sin(faces)
    return scaled("2-D, closed eddies", -np.diff(psi, axis=0)[None], np.diff(psi, axis=1)[None], 240)


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
        if greatest.min() > BLOWN_UP:
            break
    return Outcome(driven.clipped / q.sum(axis=(1, 2, 3)), greatest)


def check() -> list[Figure]:
    """Return what the default Courant number, 0.4, and the largest allowed, 0.5, do in one and in two dimensions."""
    figures = []
    for bench in (row(), eddies()):
        usual, most = attempt(bench, 0.4), attempt(bench, 0.5)
        test, greatest = f"Courant numbers, {bench.text}", float(most.greatest.max())
        figures += [
            Figure(test, "0.4: smooth data clipped", float(usual.clipped[0]), SLACK, reference="exact: 0"),
            Figure(test, "0.4: rough data clipped", float(usual.clipped[1]), 1e-9, reference="exact: 0, kernels.md"),
            Figure(test, "0.5: greatest value over the first", greatest, 1.0 + SLACK, reference="exact: 1"),
        ]
    return figures
