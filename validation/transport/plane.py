"""The plane: rotation and swirl at three resolutions, the largest step, one column; with pictures."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt

from airshed.core.arrays import Array
from airshed.models.air.case import Case
from airshed.models.air.programs import two_step
from airshed.runtime.simulation import Simulation
from airshed.verify import column
from airshed.verify.figure import observed_order
from airshed.verify.transport import plane
from airshed.verify.transport.plane import DAY, REFERENCE, SHAPES, SIDE, TransportResult, plane_case, shapes, swirl

from .pictures import save

HERE = Path(__file__).parent
RESOLUTIONS = (50, 100, 200)
COURANT_NUMBERS = (0.1, 0.2, 0.25, 0.3, 0.32, 0.34, 0.36, 0.38, 0.4, 0.42, 0.45, 0.48, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)
ERROR_COURANTS = (0.1, 0.2, 0.3, 0.4, 0.5)
TRACERS = ("SMOOTH", "CYLINDER", "ROUGH")
CELLS = 60


@dataclass(frozen=True)
class ObliqueResult:
    """Result of an oblique wind for a tracer at one Courant number: share clipped at zero, overshoot, l1 error."""

    clipped: float
    overshoot: float
    l1: float


def initial_tracers() -> dict[str, Array]:
    """Return the tracers in the south-west quarter of the box, (y, x), at most 1."""
    x, y = np.meshgrid(np.arange(CELLS) + 0.5, np.arange(CELLS) + 0.5)
    distance = np.hypot(x - 18.0, y - 18.0)
    cylinder = (distance < 9.0) & ((np.abs(x - 18.0) > 2.0) | (y > 23.0))
    inside = (np.abs(x - 18.0) < 9.0) & (np.abs(y - 18.0) < 9.0)
    random = np.random.default_rng(7)
    rough = 10.0 ** random.uniform(-8.0, 0.0, x.shape) * (random.random(x.shape) < 0.5) * inside
    smooth = np.where(distance < 17.5, np.exp(-0.5 * (distance / 5.0) ** 2) - np.exp(-0.5 * 3.5**2), 0.0)
    return dict(zip(TRACERS, (smooth, cylinder.astype(np.float64), rough), strict=True))


def slanted(courant: float) -> dict[str, ObliqueResult]:
    """Advect the tracers 24 cells east and 12 north; every cell has the same sum of Courant numbers.

    The wind is neither along an axis nor along the diagonal, where rough data stay positive at larger numbers.
    """
    speed, east, north = 5.0, 24, 12
    length = east * SIDE / CELLS / speed
    steps = round((east + north) / courant)
    case = Case.from_dict(
        {
            "grid": {
                "area": {"lon": [-0.5, 0.5], "lat": [-0.5, 0.5]},
                "spacing": f"{1.0 / CELLS!r} deg",
                "layers": ["500 m"],
            },
            "time": {"start": "2022-01-01T00:00:00Z", "length": f"{length!r} s", "step": f"{length / steps!r} s"},
            "chemistry": {"mechanism": "shapes.spc"},
            "transport": {"diffusion": False},
            "deposition": {"scheme": "none"},
            "output": [{"every": f"{length!r} s"}],
            "restart": {"every": f"{length!r} s"},
            "run": {"threads": 1},
        },
        base=HERE,
    )
    grid, tracers = case.make_grid(), initial_tracers()
    northward = speed * north / east / np.cos(np.radians(grid.y_faces))[:, None] * np.ones(CELLS)
    air = xr.Dataset({"eastward_wind": speed, "northward_wind": (("lat_face", "lon"), northward)})
    with Simulation(case, air, xr.Dataset({name: (("lat", "lon"), q) for name, q in tracers.items()})) as simulation:
        simulation.run()
        assert simulation.model.steps == steps
        budget = simulation.budget()
        result = {}
        for name, before in tracers.items():
            after, exact = simulation[name].values[0], np.roll(before, (north, east), (0, 1))
            clipped = float((budget["clipped"] / budget["throughput"]).sel(species=name))
            l1 = float(np.abs(after - exact).sum() / exact.sum())
            result[name] = ObliqueResult(clipped, float(after.max() - before.max()), l1)
    return result


def run() -> dict[str, Any]:
    """Return the figures of the plane flows, of the oblique wind by Courant number, and of one column; draw them."""
    flows = {flow: {cells: plane.carry(flow, cells) for cells in RESOLUTIONS} for flow in REFERENCE}
    by_courant = {courant: plane.carry("rotation", 100, courant) for courant in ERROR_COURANTS}
    usual, two_step.LARGEST_COURANT = (
        two_step.LARGEST_COURANT,
        np.inf,
    )
    try:  # the model refuses longer fixed steps, which are studied here
        courants = {courant: slanted(courant) for courant in COURANT_NUMBERS}
    finally:
        two_step.LARGEST_COURANT = usual
    draw_swirl()
    draw_errors(flows)
    draw_courant(courants)
    return {
        "flows": {flow: carried_figures(flow, results) for flow, results in flows.items()},
        "by_courant": {
            courant: {"steps": each.steps, **{name: each.errors[name].l1 for name in SHAPES}}
            for courant, each in by_courant.items()
        },
        "slanted": {courant: {name: asdict(one) for name, one in each.items()} for courant, each in courants.items()},
        "column": column_figures(),
    }


def carried_figures(flow: str, results: dict[int, TransportResult]) -> list[dict[str, Any]]:
    """Return the figures of a flow at each resolution, with observed orders of l1."""
    runs: list[dict[str, Any]] = []
    for cells, result in results.items():
        errors: dict[str, Any] = {}
        for number, name in enumerate(SHAPES):
            field, each = result.field[number], result.errors[name]
            errors[name] = {"l1": each.l1, "l2": each.l2, "linf": each.linf}
            errors[name] |= {"least": float(field.min()), "greatest": float(field.max())}
            if runs:
                errors[name]["order_l1"] = observed_order(runs[-1]["errors"][name]["l1"], each.l1)
            if cells == 100:
                errors[name]["reference_l1"] = REFERENCE[flow][name]
        runs.append({
            "cells": cells, "steps": result.steps, "mass": result.mass, "clipped": result.clipped, "errors": errors,
        })  # fmt: skip
    return runs


def column_figures() -> dict[str, Any]:
    """Return the errors of vertical transport and diffusion by resolution, and of diffusion by time step."""
    space = {layers: (column.lift(layers).l1, column.error_of_space(layers, "30 s")) for layers in (20, 40, 80)}
    time = {step: column.error_of_time(20, f"{step} s") for step in (1200, 600, 300, 150)}
    return {"space": {n: {"rising": each[0], "diffusion": each[1]} for n, each in space.items()}, "time": time}


def draw_swirl(cells: int = 100) -> None:
    """Draw the shapes at the start, at the greatest deformation, and at the end."""
    case = plane_case(cells, 0.4)
    start = shapes(cells)
    with Simulation(
        case, swirl(case.make_grid()), xr.Dataset({"TRACER": (("level", "lat", "lon"), start)})
    ) as simulation:
        simulation.run(until=0.5 * DAY)
        middle = simulation["TRACER"].values
        simulation.run()
        moments = {"start": start, "half time": middle, "back": simulation["TRACER"].values}
    figure, axes = plt.subplots(3, 3, figsize=(7.0, 6.0), sharex=True, sharey=True, layout="constrained")
    for row, name in enumerate(SHAPES):
        for axis, (moment, field) in zip(axes[row], moments.items(), strict=True):
            image = axis.imshow(field[row], origin="lower", extent=(0, 1, 0, 1), vmin=0.0, vmax=1.0, cmap="viridis")
            axis.set_title(f"{name}, {moment}", fontsize=8)
            axis.tick_params(labelsize=7)
    figure.colorbar(image, ax=axes, shrink=0.5, label="mixing ratio")
    save(figure, "swirl")


def draw_errors(flows: dict[str, dict[int, TransportResult]]) -> None:
    """Draw l1 against resolution."""
    figure, axes = plt.subplots(1, 2, figsize=(7.0, 3.2), sharey=True, layout="constrained")
    for axis, (flow, results) in zip(axes, flows.items(), strict=True):
        cells = np.array(list(results))
        for name, marker in zip(SHAPES, "os^", strict=True):
            axis.loglog(cells, [each.errors[name].l1 for each in results.values()], marker=marker, label=name)
        for order, style in ((1, ":"), (2, "--"), (3, "-.")):
            axis.loglog(cells, 0.9 * (cells / cells[0]) ** -float(order), "k" + style, lw=0.7, label=f"order {order}")
        axis.set_title(flow)
        axis.set_xlabel("cells along a side")
        axis.set_xticks(cells, [str(count) for count in cells])
        axis.minorticks_off()
    axes[0].set_ylabel("relative l1 error")
    axes[1].legend(fontsize=7)
    save(figure, "errors")


def draw_courant(results: dict[float, dict[str, ObliqueResult]]) -> None:
    """Draw the clipped share and the error against the Courant number."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.2), layout="constrained")
    numbers = list(results)
    for name, marker in zip(TRACERS, "os^", strict=True):
        left.semilogy(
            numbers, [max(each[name].clipped, 1e-20) for each in results.values()], marker=marker, ms=4, label=name
        )
        right.semilogy(numbers, [each[name].l1 for each in results.values()], marker=marker, ms=4, label=name)
    left.set_ylabel("clipped, share of mass (lowest: none)")
    right.set_ylabel("relative l1 error")
    for axis in (left, right):
        axis.axvline(0.4, color="0.6", lw=0.8)
        axis.set_xlabel("sum of Courant numbers (line: default)")
    left.legend(fontsize=7)
    save(figure, "courant")
