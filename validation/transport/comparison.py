"""Comparison of Airshed's transport with MPDATA of the package PyMPDATA: equal flows, grids, shapes and time steps.

Both get the same volumes swept through the faces of a plane grid, from a stream function at the corners. The timing is
that of the rotation: its wind is steady, so that PyMPDATA makes all steps in one compiled call, as intended. Times are
processor times on one thread, so that other work of the machine matters little.
"""

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.transport.reference import AirFluxes
from airshed.process.vertical import outflow_rate
from airshed.verify.transport.driven import TransportDriver
from airshed.verify.transport.plane import SHAPES, Errors, shapes

from .pictures import draw_comparison

RESOLUTIONS: Final = (50, 100, 200)
USUAL, LONG = 0.4, 0.8  # Airshed's default; the largest stable and best one of MPDATA
TRACERS_AT_ONCE: Final = (1, 4, 16, 64)
REPEATS: Final = 5
TIMED_STEPS: Final = 200
MPDATA: Final[dict[str, dict[str, Any]]] = {
    "MPDATA, 1 pass (upwind)": {"n_iters": 1},
    "MPDATA, 2 passes": {"n_iters": 2},
    "MPDATA, 3 passes": {"n_iters": 3},
    "MPDATA, 2 passes, non-oscillatory": {"n_iters": 2, "nonoscillatory": True},
    "MPDATA, 3 passes, non-oscillatory": {"n_iters": 3, "nonoscillatory": True},
    "MPDATA, 3 passes, non-oscillatory, third order, infinite gauge": {
        "n_iters": 3, "nonoscillatory": True, "third_order_terms": True, "infinite_gauge": True,
    },
}  # fmt: skip
AIRSHED: Final = "Airshed, two-step kappa = 1/3, limited"
_ONE: Final = str(Path(__file__).parent / "one.spc")


class Flow:
    """Volumes that a plane flow sweeps through the faces in a step: x (cells, cells + 1), y (cells + 1, cells)."""

    def __init__(self, name: str, cells: int, courant: float) -> None:
        corners = np.arange(cells + 1) / cells
        x, y = np.meshgrid(corners, corners)
        if name == "rotation":
            psi = np.pi * ((x - 0.5) ** 2 + (y - 0.5) ** 2)
        else:
            psi = -1.5 / np.pi * (np.sin(np.pi * x) * np.sin(np.pi * y)) ** 2
        self.name, self.cells = name, cells
        self.x, self.y = -np.diff(psi, axis=0) * cells**2, np.diff(psi, axis=1) * cells**2
        still, ones = np.zeros((1, cells, cells)), np.ones((1, cells, cells))
        # twice the number for half the flow: an even number puts a step at the reversal
        self.steps = 2 * int(np.ceil(0.5 * outflow_rate(self.x[None], self.y[None], still, ones).max() / courant))
        self.x, self.y = self.x / self.steps, self.y / self.steps
        self.steady = name == "rotation"

    def factor(self, step: float) -> float:
        """Return the strength of the flow at a step relative to the start."""
        return 1.0 if self.steady else float(np.cos(np.pi * step / self.steps))


def airshed(flow: Flow, q: Array) -> tuple[Array, Callable[[], float]]:
    """Return the final shape, and a function that times a step [s]."""
    fluxes = AirFluxes(flow.x[None], flow.y[None], np.zeros((1, flow.cells, flow.cells)))
    driven = TransportDriver(_ONE, q[None, None], np.ones((1, flow.cells, flow.cells)), np.zeros(1), np.ones(1))
    for step in range(flow.steps):
        driven.step(fluxes, 1.0, flow.factor(step))
    return driven.q[0, 0].copy(), stopwatch(driven, fluxes)


class Mpdata:
    """A variant of MPDATA, compiled once for grids of any size, on one thread."""

    def __init__(self, **options: Any) -> None:
        import PyMPDATA

        self._package = PyMPDATA
        self._options = PyMPDATA.Options(**options)
        self._stepper = PyMPDATA.Stepper(options=self._options, n_dims=2, n_threads=1)

    def __call__(self, flow: Flow, q: Array) -> tuple[Array, Callable[[], float]]:
        """Return the final shape, and a function that times a step [s]."""
        solver = self._solver(flow, q)
        if flow.steady:
            solver.advance(flow.steps)
        else:
            given = flow.y.copy(), flow.x.copy()
            for step in range(flow.steps):
                for axis, component in enumerate(given):  # MPDATA requires the middle of the step
                    solver.advector.get_component(axis)[:] = component * flow.factor(step + 0.5)
                solver.advance(1)
        result = solver.advectee.get().copy()
        fresh = self._solver(flow, q)
        fresh.advance(1)

        def timed() -> float:
            begin = process_time()
            fresh.advance(TIMED_STEPS)
            return (process_time() - begin) / TIMED_STEPS

        return result, timed

    def _solver(self, flow: Flow, q: Array) -> Any:
        """Return a solver; the first dimension of its arrays is y."""
        package, halo = self._package, self._options.n_halo
        around = (package.boundary_conditions.Constant(0.0),) * 2
        shape = package.ScalarField(data=q.copy(), halo=halo, boundary_conditions=around)
        wind = package.VectorField(data=(flow.y.copy(), flow.x.copy()), halo=halo, boundary_conditions=around)
        return package.Solver(stepper=self._stepper, advectee=shape, advector=wind)


def run() -> dict[str, Any]:
    """Return errors of all shapes and times per cell and step, for both flows at every resolution; draw them."""
    os.environ["NUMBA_NUM_THREADS"] = "1"
    schemes: dict[str, Callable[[Flow, Array], tuple[Array, Callable[[], float]]]] = {AIRSHED: airshed}
    for name, options in MPDATA.items():
        schemes[name] = Mpdata(**options)
        schemes[name](Flow("rotation", 8, USUAL), np.zeros((8, 8)))  # compiles it before the timing
    results: dict[str, Any] = {"many_tracers": many_tracers(), "flows": {}}
    for flow_name, longer_alone in (("rotation", False), ("swirl", True)):
        runs = [
            figures(name, courant, Flow(flow_name, cells, courant), scheme)
            for cells in RESOLUTIONS
            for name, scheme in schemes.items()
            for courant in ((USUAL,) if name == AIRSHED else (LONG,) if longer_alone else (USUAL, LONG))
        ]
        time_together(runs)
        results["flows"][flow_name] = runs
    draw_comparison(picture_lines(results["flows"]))
    return results


def figures(name: str, courant: float, flow: Flow, scheme: Callable[[Flow, Array], Any]) -> dict[str, Any]:
    """Return the errors of the shapes; `timed` measures a step."""
    errors = {}
    for shape, exact in zip(SHAPES, shapes(flow.cells), strict=True):
        field, timed = scheme(flow, exact)
        each = Errors.of(field, exact, np.ones_like(exact))
        errors[shape] = {
            "l1": each.l1, "l2": each.l2, "linf": each.linf,
            "phi_min": float(field.min() - exact.min()) / float(np.ptp(exact)),
            "phi_max": float(field.max() - exact.max()) / float(np.ptp(exact)),
            "mass": float(field.sum() / exact.sum()) - 1.0,
        }  # fmt: skip
    return {
        "scheme": name,
        "courant": courant,
        "cells": flow.cells,
        "steps": flow.steps,
        "errors": errors,
        "timed": timed,
    }


def time_together(runs: list[dict[str, Any]]) -> None:
    """Time the schemes in alternation, so that other work of the machine affects all of them; store medians."""
    timers = [run.pop("timed") for run in runs]
    turns = [[timer() for timer in timers] for _ in range(REPEATS)]
    for run, *times in zip(runs, *turns, strict=True):
        run["nanoseconds_per_cell_and_step"] = 1e9 * median(times) / run["cells"] ** 2
        run["seconds"] = median(times) * run["steps"]


def many_tracers() -> dict[int, float]:
    """Return the nanoseconds per cell, step and tracer for numbers of tracers that Airshed advects together."""
    cells, flow = 100, Flow("rotation", 100, USUAL)
    fluxes, times = AirFluxes(flow.x[None], flow.y[None], np.zeros((1, cells, cells))), {}
    for count in TRACERS_AT_ONCE:
        with TemporaryDirectory() as folder:
            mechanism = Path(folder) / "many.spc"
            mechanism.write_text("#DEFVAR\n" + "\n".join(f"T{n} = IGNORE;" for n in range(count)), encoding="utf-8")
            q = np.broadcast_to(shapes(cells)[0], (count, 1, cells, cells))
            driven = TransportDriver(str(mechanism), q, np.ones((1, cells, cells)), np.zeros(count), np.ones(1))
        times[count] = 1e9 * median(stopwatch(driven, fluxes)() for _ in range(REPEATS)) / cells**2 / count
    return times


def stopwatch(driven: TransportDriver, fluxes: AirFluxes) -> Callable[[], float]:
    """Return a function that times a step [s]."""

    def timed() -> float:
        begin = process_time()
        for _ in range(TIMED_STEPS):
            driven.step(fluxes, 1.0)
        return (process_time() - begin) / TIMED_STEPS

    return timed


def picture_lines(flows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return the data of the picture: each scheme at its longest step."""
    shown = {}
    for flow, runs in flows.items():
        shown[flow] = [run for run in runs if run["scheme"] == AIRSHED or run["courant"] == LONG]
    return shown
