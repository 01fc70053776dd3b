"""Shapes carried over the sphere by the whole model: norms, mass, extremes, order, mixing of correlated tracers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import xarray as xr

from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure, observed_order
from airshed.verify.transport.flow import Array, Errors, amount, clipped_share, tracer_case
from airshed.verify.transport.mixing import Mixing
from airshed.verify.transport.sphere import BACKGROUND, FLOWS, LENGTH, TRACERS, SphereFlow

_ROUND_OFF: Final = 1e-11
_FIRST: Final = "exact: 0; limit: 1.1 of the first run"
_NONE: Final = "exact: 0"
_SMOOTH: Final = "exact: 3 where smooth"
UNIFORM: Final = TRACERS.index("UNIFORM")
BELLS, TIED = TRACERS.index("BELLS"), TRACERS.index("CORRELATED")


@dataclass(frozen=True)
class Turned:
    """What has become of the tracers (tracer, lat, lon) when a flow has brought them where they should be.

    mass     of each tracer at the end, with what has left and come, over that at the start; less 1
    clipped  of each tracer, share of what went through the model
    """

    start: Array
    middle: Array
    end: Array
    exact: Array
    area: Array
    steps: int
    mass: Array
    clipped: Array

    def errors(self, tracer: int) -> Errors:
        """Compare a tracer with the exact one; its range has that of the start as bounds."""
        return Errors.of(self.end[tracer], self.exact[tracer], self.area)

    def extremes(self, tracer: int) -> tuple[float, float]:
        """Return how far the least value lies above, and the greatest above, those of the start, over the range there.

        The least of half time and the end, the greatest at the end; the background counts as part of the start, as it
        flows in. A first figure below 0 or a second one above it is a new extreme.
        """
        low, high = self._bounds(tracer)
        span = high - low or 1.0
        fields = self.middle[tracer], self.end[tracer]
        return (min(float(field.min()) for field in fields) - low) / span, (float(fields[1].max()) - high) / span

    def new_extreme(self) -> float:
        """Return how far any tracer has left its range, at half time or the end, over this range."""
        worst = 0.0
        for tracer in range(len(TRACERS)):
            low, high = self._bounds(tracer)
            fields = np.stack([self.middle[tracer], self.end[tracer]])
            worst = max(worst, float(max(low - fields.min(), fields.max() - high)) / (high - low or 1.0))
        return worst

    def _bounds(self, tracer: int) -> tuple[float, float]:
        start, around = self.start[tracer], BACKGROUND[TRACERS[tracer]]
        return min(float(start.min()), around), max(float(start.max()), around)

    @property
    def mixing(self) -> Mixing:
        """The mixing of the correlated pair at half time."""
        return Mixing.of(self.middle[BELLS], self.middle[TIED], self.area)


def turn(flow: SphereFlow, spacing: float, courant: float = 0.4) -> Turned:
    """Carry all tracers by a flow on cells of a spacing [degrees]; at the sides their background flows in."""
    case = tracer_case(
        {"area": {"lon": list(flow.area[0]), "lat": list(flow.area[1])}, "spacing": f"{spacing!r} deg"},
        ["100 m"],
        time={"courant": courant, "length": f"{LENGTH!r} s"},
        chemistry={"mechanism": "sphere.spc"},
        boundary={"values": {name: f"{value!r} mol/mol" for name, value in BACKGROUND.items()}},
        meteorology={"every": f"{LENGTH / flow.instants!r} s"},
    )
    grid = case.make_grid()
    start = flow.exact(grid, 0.0)
    given = xr.Dataset({name: (("lat", "lon"), field) for name, field in zip(TRACERS, start, strict=True)})
    with Simulation(case, flow.winds(grid), given) as simulation:
        before = np.array([amount(simulation, name) for name in TRACERS])
        simulation.run(until=0.5 * LENGTH)
        middle = _fields(simulation)
        simulation.run()
        after, budget = np.array([amount(simulation, name) for name in TRACERS]), simulation.budget()
        through = np.array([float((budget["outflow"] - budget["inflow"]).sel(species=name)) for name in TRACERS])
        clipped = np.array([clipped_share(simulation, name) for name in TRACERS])
        steps, end = simulation.model.steps, _fields(simulation)
    return Turned(
        start, middle, end, flow.exact(grid), grid.cell_area, steps, (after + through) / before - 1.0, clipped
    )


def _fields(simulation: Simulation) -> Array:
    return np.stack([simulation[name].values[0] for name in TRACERS])


def check_turn(spacings: tuple[float, float] = (2.0, 1.0)) -> list[Figure]:
    """Return the figures of a turn about a point at 40 degrees north at the second spacing, and the order to it."""
    coarse, fine = (turn(FLOWS["turn"], spacing) for spacing in spacings)
    test = f"rotation on the sphere, {spacings[1]:g} degrees"
    order = observed_order(*(each.errors(TRACERS.index("HILLS")).l1 for each in (coarse, fine)))
    return [
        *_errors(test, fine, {"HILLS": 0.022, "BELLS": 0.0128, "CYLINDERS": 0.147}),
        Figure(test, f"order of l1, Gaussian, {spacings[0]:g} to {spacings[1]:g}", order, 2.4, True, _SMOOTH),
        *_kept(test, fine),
    ]


def check_path(spacing: float = 1.5) -> list[Figure]:
    """Return the figures of a way along a tilted great circle, with air that flows in and out."""
    result, test = turn(FLOWS["slant"], spacing), f"great circle at 45 degrees, {spacing:g} degrees"
    return [*_errors(test, result, {"HILLS": 0.0347, "BELLS": 0.0144, "CYLINDERS": 0.141}), *_kept(test, result)]


def check_deformation(spacings: Sequence[float] = (3.0,)) -> list[Figure]:
    """Return the figures of Nair & Lauritzen's case 2, and the order where there is a second spacing, half as wide."""
    results = [turn(FLOWS["two vortices"], spacing) for spacing in spacings]
    test, first, mixing = f"two vortices on the sphere, {spacings[0]:g} degrees", results[0], results[0].mixing
    figures = [
        *_errors(test, first, {"HILLS": 0.205, "BELLS": 0.176, "CYLINDERS": 0.367}),
        Figure(test, "real mixing", mixing.real, 6e-3, reference=_NONE),
        Figure(test, "range-preserving unmixing", mixing.unmixing, 1e-4, reference=_NONE),
        Figure(test, "overshooting", mixing.overshooting, _ROUND_OFF, reference=_NONE),
        *_kept(test, first),
    ]
    for coarse, fine in pairwise(results):
        order = observed_order(*(each.errors(TRACERS.index("HILLS")).l1 for each in (coarse, fine)))
        figures.append(Figure(test, "order of l1, Gaussian, to half the spacing", order, 1.6, True, _SMOOTH))
    return figures


def _errors(test: str, turned: Turned, limits: dict[str, float]) -> list[Figure]:
    """Return the l1 errors; their limits are what the scheme was first measured with, plus a tenth."""
    return [
        Figure(test, f"l1 of {name.lower()}", turned.errors(TRACERS.index(name)).l1, limit, reference=_FIRST)
        for name, limit in limits.items()
    ]


def _kept(test: str, turned: Turned) -> list[Figure]:
    """Return what should be nothing: drift of the uniform tracer, change of mass, new extremes, clipping."""
    drift, mass = float(np.abs(turned.end[UNIFORM] - 1.0).max()), float(np.abs(turned.mass).max())
    return [
        Figure(test, "uniform tracer, greatest deviation", drift, _ROUND_OFF, reference=_NONE),
        Figure(test, "change of mass, with what crosses the sides", mass, 1e-12, reference=_NONE),
        Figure(test, "largest new extreme", turned.new_extreme(), _ROUND_OFF, reference=_NONE),
        Figure(test, "clipped at zero, share of mass", float(turned.clipped.max()), 1e-12, reference=_NONE),
    ]
