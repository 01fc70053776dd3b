"""The sphere: rotation and deformation at three resolutions, convergent air, mixing and filaments."""

from collections.abc import Sequence
from dataclasses import astuple
from itertools import pairwise
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.verify.figure import observed_order
from airshed.verify.transport.driven import squeeze
from airshed.verify.transport.plane import Errors
from airshed.verify.transport.sphere import BELLS, FLOWS, TIED, TRACERS, SphereResult, turn

from .pictures import draw_mixing, draw_sphere

SPACINGS = {"turn": (2.0, 1.0, 0.5), "slant": (3.0, 1.5, 0.75)}
USUAL = (3.0, 1.5, 0.75)
SHAPES = ("HILLS", "BELLS", "CYLINDERS", "CORRELATED")
THRESHOLDS = tuple(round(0.1 + 0.05 * step, 2) for step in range(19))
PICTURED = 1.5


def run() -> dict[str, Any]:
    """Return the figures of every flow, and draw its shapes."""
    results: dict[str, Any] = {}
    for name, flow in FLOWS.items():
        fields = {spacing: turn(flow, spacing) for spacing in SPACINGS.get(name, USUAL)}
        results[name] = {
            "text": flow.text,
            "area": flow.area,
            "runs": [turned_figures(s, f) for s, f in fields.items()],
        }
        add_orders(results[name]["runs"])
        if name in ("two vortices", "moving vortices"):
            for run_, field in zip(results[name]["runs"], fields.values(), strict=True):
                run_["mixing"] = dict(zip(("real", "unmixing", "overshooting"), astuple(field.mixing), strict=True))
                left = filaments(field.start[BELLS], field.middle[BELLS], field.area, THRESHOLDS)
                run_["filaments"] = dict(zip(map(str, THRESHOLDS), np.round(left, 2).tolist(), strict=True))
        if name == "two vortices":
            draw_mixing({s: (f.middle[BELLS], f.middle[TIED]) for s, f in fields.items()}, results[name]["runs"])
            draw_sphere("sphere", flow.area, fields[PICTURED].start, fields[PICTURED].middle, fields[PICTURED].end)
        if name == "turn":
            draw_sphere("turn", flow.area, *(getattr(fields[1.0], when) for when in ("start", "middle", "end")))
    squeezed = {spacing: squeeze(spacing) for spacing in USUAL}
    results["squeezed"] = {
        "text": "case 3: air that is squeezed and stretched",
        "area": ((0.0, 360.0), (-90.0, 90.0)),
        "runs": [squeezed_figures(s, f) for s, f in squeezed.items()],
    }
    add_orders(results["squeezed"]["runs"])
    return results


def turned_figures(spacing: float, turned: SphereResult) -> dict[str, Any]:
    """Return the figures of a run with the whole model."""
    return {
        "spacing": spacing,
        "steps": turned.steps,
        "mass": float(np.abs(turned.mass).max()),
        "clipped": float(turned.clipped.max()),
        "new_extreme": turned.new_extreme(),
        "uniform": float(np.abs(turned.end[TRACERS.index("UNIFORM")] - 1.0).max()),
        "errors": {n: norms(turned.errors(TRACERS.index(n)), turned.exact, turned.end, n) for n in SHAPES},
    }


def squeezed_figures(spacing: float, result: SphereResult) -> dict[str, Any]:
    """Return the figures of convergent air."""
    assert result.density is not None
    figures = turned_figures(spacing, result)
    errors = figures.pop("errors")
    density = float(np.abs(result.density - 1.0).max())
    return {**figures, "compression": result.compression, "density": density, "errors": errors}


def norms(errors: Errors, exact: Array, field: Array, name: str) -> dict[str, float]:
    """Return l1, l2, linf, and the differences of minimum and maximum from the exact ones over their range."""
    exact, field = exact[TRACERS.index(name)], field[TRACERS.index(name)]
    span = float(np.ptp(exact))
    least, greatest = float(field.min() - exact.min()) / span, float(field.max() - exact.max()) / span
    return {"l1": errors.l1, "l2": errors.l2, "linf": errors.linf, "phi_min": least, "phi_max": greatest}


def add_orders(runs: list[dict[str, Any]]) -> None:
    """Add the observed order of each norm between consecutive resolutions, which differ by a factor of two."""
    for coarse, fine in pairwise(runs):
        for name, errors in fine["errors"].items():
            for norm in ("l1", "l2", "linf"):
                errors[f"order_{norm}"] = observed_order(coarse["errors"][name][norm], errors[norm])


def filaments(start: Array, stretched: Array, area: Array, thresholds: Sequence[float]) -> Array:
    """Return the area where a tracer is at least at each threshold, in percent of that at the start.

    It is 100 at all thresholds without mixing; 0 where the area was empty. Source: Lauritzen et al. 2012, section 3.3.
    """
    weight = np.broadcast_to(area, start.shape)
    slack = 1e-12  # the background may differ from the first threshold by round-off
    before, after = (
        np.array([weight[field >= threshold - slack].sum() for threshold in thresholds]) for field in (start, stretched)
    )
    return np.asarray(100.0 * np.divide(after, before, out=np.zeros_like(after), where=before > 0.0))
