"""README.md of the study, from README.in.md and the figures of all parts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import results, tables

HERE = Path(__file__).parent
FLOWS_ON_SPHERE = ("turn", "slant", "one vortex", "two vortices", "moving vortices", "squeezed")


def largest(courants: Mapping[str, Any], name: str, bound: str) -> float:
    """Return the greatest Courant number up to which a tracer is never clipped, or has no new maximum."""
    greatest = 0.0
    for courant, each in courants.items():
        if each[name][bound] > 0.0:
            break
        greatest = float(courant)
    return greatest


def text() -> str:
    """Return README.md for the stored figures."""
    plane, sphere, limits, comparison = (results.read(part) for part in ("plane", "sphere", "limits", "comparison"))
    slanted, flows = plane["slanted"], comparison["flows"]
    bounds = {
        f"{name}_{bound}": largest(slanted, name, bound)
        for name in next(iter(slanted.values()))
        for bound in ("clipped", "overshoot")
    }
    return (HERE / "README.in.md").read_text(encoding="utf-8").format(
        rotation=tables.plane(plane["flows"]["rotation"]),
        swirl=tables.plane(plane["flows"]["swirl"]),
        default=slanted["0.4"]["ROUGH"]["clipped"],
        most=slanted["0.5"]["ROUGH"]["clipped"],
        courant=tables.slanted(slanted),
        by_courant=tables.by_courant(plane["by_courant"]),
        column=tables.column(plane["column"]),
        limits=tables.limits(limits),
        linear=limits["linear"],
        mixing=tables.mixing(sphere),
        filaments=tables.filaments(sphere["two vortices"]),
        many=tables.many(comparison["many_tracers"]),
        **{name.replace(" ", "_"): tables.sphere(sphere[name]) for name in FLOWS_ON_SPHERE},
        **{f"compared_{flow}_{cells}": tables.comparison(flows[flow], cells) for flow in flows for cells in (100, 200)},
        **bounds,
    )  # fmt: skip


def write() -> None:
    """Write README.md."""
    (HERE / "README.md").write_text(text(), encoding="utf-8")
