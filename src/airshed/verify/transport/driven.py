"""Tracers in prescribed air fluxes: only the compiled transport, without a case or a meteorology."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.grid import Grid
from airshed.kernels.backend import backend
from airshed.kernels.step.arguments import ColumnForcing, Pair, StepConstants, TransportForcing
from airshed.kernels.transport.reference import AirFluxes, flux_along, with_sides
from airshed.mechanism import load_mechanism
from airshed.process.vertical import outflow_rate, parabola_weights, upward_air_flux
from airshed.program.weights import two_step_weights
from airshed.verify.figure import Figure
from airshed.verify.transport.sphere import BACKGROUND, SphereResult, figures_of_errors, figures_of_laws, shapes

SPHERE: Final = str(Path(__file__).parent / "sphere.spc")


class TransportDriver:
    """Tracers of a mechanism in prescribed air fluxes, advanced by the compiled two-step transport.

    q          initial mixing ratios (species, level, lat, lon) [mol/mol]
    air        air (level, lat, lon) [mol]
    boundary   mixing ratios at all boundaries (species,)
    thickness  thickness of the layers (level,) [m]
    """

    def __init__(self, mechanism: str, q: Array, air: Array, boundary: Array, thickness: Array) -> None:
        network, (levels, rows, columns) = load_mechanism(mechanism), air.shape
        kernel = backend().compile_mechanism(network, levels)
        self.layout = kernel.layout(rows, columns)
        constants = StepConstants(
            profile=np.repeat(boundary[:, None], levels, axis=1), top=boundary,
            density_factor=np.ones((levels, rows, 1)), vertical_weights=parabola_weights(thickness),
        )  # fmt: skip
        self.stepper = kernel.stepper(self.layout, constants)
        state, zeros = self.stepper.state, self.layout.zeros
        state.q[...] = state.q_other[...] = self.layout.pack(q)
        state.air[...] = state.air_other[...] = self.layout.pack(air)
        ones = zeros(levels)
        ones[...] = 1.0
        self._column = ColumnForcing((ones, ones), (ones, ones), weight=0.0, emission=zeros(0, 1), sun=zeros(2))
        self._fluxes: tuple[AirFluxes, list[Pair]] | None = None
        self._previous: float | None = None
        self._expected = (np.sum(q * air, axis=(1, 2, 3)),) * 2
        self._net = np.zeros(len(q))
        self.clipped = np.zeros(len(q))

    def step(self, fluxes: AirFluxes, length: float, factor: float = 1.0) -> None:
        """Advance by a step [s] with fluxes times a factor; an unchanged object is not packed again."""
        if self._fluxes is None or self._fluxes[0] is not fluxes:
            given, pack = (fluxes.eastward, fluxes.northward, fluxes.upward), self.layout.pack
            # interpolated between no flux and these, with the factor as weight
            pairs = [(pack(0.0 * each, padding="constant"), pack(each, padding="constant")) for each in given]
            self._fluxes = fluxes, pairs
        x, y, z = self._fluxes[1]
        transport = TransportForcing(x, y, z, factor, factor)
        weights = two_step_weights(length, self._previous)
        inflow, outflow, _, clipped = self.stepper.step(weights, transport, self._column)
        now, before = self._expected
        net = inflow - outflow
        expected = weights.c0 * now + weights.c1 * before + weights.t0 * net + weights.t1 * self._net + clipped
        self._expected, self._net, self._previous = (expected, now), net, length
        self.clipped += clipped

    @property
    def q(self) -> Array:
        """Mixing ratios (species, level, lat, lon) [mol/mol]."""
        return self.layout.unpack(self.stepper.state.q)

    @property
    def unexplained(self) -> Array:
        """Relative residual of each tracer's amount after initial amount, boundary fluxes and clipping."""
        amount = np.sum(self.q * self.air, axis=(1, 2, 3))
        return np.asarray((amount - self._expected[0]) / np.maximum(amount, np.finfo(np.float64).tiny))

    @property
    def air(self) -> Array:
        """Air content (level, lat, lon) [mol]."""
        return self.layout.unpack(self.stepper.state.air)


_CENTRES: Final = ((0.75 * np.pi, 0.0), (1.25 * np.pi, 0.0))


def squeezing_winds(grid: Grid) -> tuple[Array, Array]:
    """Return case 3 of Nair & Lauritzen at t = 0: volumes through a face of height 1 in T/5, on the unit sphere.

    u = -sin^2(lon/2) sin(2 lat) cos^2(lat),  v = sin(lon) cos^3(lat) / 2, each times cos(pi t / T), T = 5
    """
    meridians, parallels, lon, lat = (np.radians(each) for each in (grid.x_faces, grid.y_faces, grid.x, grid.y))
    dlon, dlat = meridians[1] - meridians[0], parallels[1] - parallels[0]
    u = -(np.sin(0.5 * meridians) ** 2) * (np.sin(2.0 * lat) * np.cos(lat) ** 2)[:, None]
    v = 0.5 * np.sin(lon) * (np.cos(parallels) ** 3)[:, None]
    return (u * dlat)[None], (v * (np.cos(parallels) * dlon)[:, None])[None]


def squeeze(spacing: float, courant: float = 0.4) -> SphereResult:
    """Transport the tracers in case 3 of Nair & Lauritzen 2010, with divergent winds that reverse at half time.

    In one layer without a vertical flux, the density follows the divergence. The air fluxes use the density of the
    kernel, with the limited scheme at faces. There is no flux through the meridian 0 E and at the poles, so that the
    exact density at the end is the initial one.
    """
    grid = Grid.regular((0.0, 360.0), (-90.0, 90.0), spacing, [1.0])
    content = np.broadcast_to(np.diff(np.sin(np.radians(grid.y_faces)))[:, None], grid.shape[1:])
    content = content * np.radians(spacing)
    start = shapes(*np.meshgrid(np.radians(grid.x), np.radians(grid.y)), _CENTRES)
    driven = TransportDriver(SPHERE, start[:, None], content[None], np.array(list(BACKGROUND.values())), np.ones(1))
    u, v = squeezing_winds(grid)
    fastest = max(outflow_rate(sign * u, sign * v, np.zeros(grid.shape), content).max() for sign in (1.0, -1.0))
    steps = 2 * int(np.ceil(0.5 * 5.0 * fastest / courant))
    for number in range(steps):
        factor = float(np.cos(np.pi * number / steps))
        density = driven.air / content
        fluxes = _carried(density, factor * u, factor * v)
        if number == steps // 2:
            middle, compression = driven.q[:, 0], float(density.max() / density.min())
        driven.step(fluxes, 5.0 / steps)
    end, clipped = driven.q[:, 0], driven.clipped / np.sum(start * content, axis=(1, 2))
    density = driven.air[0] / content
    return SphereResult(
        start, middle, end, start, grid.cell_area, steps, driven.unexplained, clipped, density, compression
    )  # fmt: skip


def _carried(density: Array, u: Array, v: Array) -> AirFluxes:
    """Return the air fluxes of a density (1, lat, lon) in a wind, with the limited scheme at faces."""
    q, turned = density[None], np.swapaxes(density[None], -1, -2)
    east, north, one = u, np.swapaxes(v, 1, 2), np.ones((1, 1, 1))
    eastward = flux_along(with_sides(q, east, one, one), east)[0]
    northward = np.swapaxes(flux_along(with_sides(turned, north, one, one), north)[0], -1, -2)
    return AirFluxes(eastward, northward, np.zeros_like(density))


def check(spacing: float = 3.0) -> list[Figure]:
    """Return the figures of air in divergent winds."""
    result, test = squeeze(spacing), f"squeezed air on the sphere, {spacing:g} degrees"
    drift = float(np.abs(result.density - 1.0).max()) if result.density is not None else np.nan
    what = "density, greatest deviation at the end"
    return [
        *figures_of_errors(test, result, {"HILLS": 0.106, "BELLS": 0.106, "CYLINDERS": 0.356}),
        *figures_of_laws(test, result, "change of mass"),
        Figure(test, what, drift, 0.03, reference="exact: 0; order 1.9 in dx"),
    ]


# Smooth and rough data at a Courant number: the air that leaves a cell in a step in all directions, relative to the
# air in it, in the cell with the largest ratio. `time.courant` limits this number.

SLACK: Final = 1e-12
"""Round-off of the clipped amount and of the largest value."""

BLOWN_UP: Final = 2.0
"""Largest value, relative to the initial one, above which a run is unstable."""


@dataclass(frozen=True)
class Bench:
    """Flow in a box of cells with air content 1, scaled so that a step of length nu has the Courant number nu."""

    text: str
    fluxes: AirFluxes
    steps: int

    @property
    def shape(self) -> tuple[int, ...]:
        """(level, lat, lon)."""
        return self.fluxes.upward.shape


@dataclass(frozen=True)
class Outcome:
    """Result of a run at a Courant number, for smooth and for rough data: clipped fraction, and largest value."""

    clipped: Array
    greatest: Array


def scaled(text: str, eastward: Array, northward: Array, steps: int) -> Bench:
    """Return a flow with these air fluxes, for a number of steps."""
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
    """Return smooth and rough data in the south-west of a box, (2, level, lat, lon), at most 1.

    smooth  a Gaussian with a standard deviation of five cells, or a seventh of the side, truncated at 0
    rough   random values over eight decades, about half of them zero
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
    """Transport the data in a flow with steps of one Courant number; the first step is an Euler step."""
    q = initial_data(bench.shape)
    driven = TransportDriver("tracer", q, np.ones(bench.shape), np.zeros(2), np.ones(bench.shape[0]))
    greatest = np.ones(2)
    for _ in range(bench.steps):
        driven.step(bench.fluxes, courant)
        greatest = np.maximum(greatest, driven.q.max(axis=(1, 2, 3)))
        if greatest.min() > BLOWN_UP:
            break
    return Outcome(driven.clipped / q.sum(axis=(1, 2, 3)), greatest)


def check_courant() -> list[Figure]:
    """Return the figures of the default Courant number, 0.4, and of the maximum, 0.5, in one and two dimensions."""
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
