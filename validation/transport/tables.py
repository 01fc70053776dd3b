"""Markdown tables of the study, from its figures."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from airshed.core.report import markdown_table
from airshed.verify.figure import observed_order
from airshed.verify.transport.plane import SHAPES

from .limits import CRITERIA, DATA

Figures = Mapping[str, Any]


def order(errors: Figures, norm: str) -> str:
    """Return an observed order, empty at the first resolution."""
    return f"{errors[f'order_{norm}']:.2f}" if f"order_{norm}" in errors else ""


def plane(runs: Sequence[Figures]) -> str:
    """Return the norms of a plane flow by shape and resolution."""
    rows = []
    for name in SHAPES:
        for run in runs:
            each = run["errors"][name]
            rows.append((
                name, f"{run['cells']} x {run['cells']}", run["steps"], f"{each['l1']:.4f}", order(each, "l1"),
                f"{each['l2']:.4f}", f"{each['linf']:.4f}", f"{each['least']:.1e}", f"{each['greatest']:.4f}",
                each.get("reference_l1", ""),
            ))  # fmt: skip
    columns = ("shape", "cells", "steps", "l1", "order", "l2", "linf", "least", "greatest", "reference l1")
    masses = ", ".join(f"{run['mass']:.1e}" for run in runs)
    clipped = max(run["clipped"] for run in runs)
    facts = f"Relative change of mass: {masses}. Clipped at zero: {clipped:.1e} of it at most."
    return f"{markdown_table(columns, rows, 1)}\n\n{facts}"


def sphere(result: Figures) -> str:
    """Return the norms of a flow on the sphere by tracer and resolution, and quantities that should be zero."""
    rows = []
    for name in ("HILLS", "BELLS", "CYLINDERS"):
        for run in result["runs"]:
            each = run["errors"][name]
            rows.append((
                name.lower(), f"{run['spacing']:g}", run["steps"], f"{each['l1']:.4f}", order(each, "l1"),
                f"{each['l2']:.4f}", order(each, "l2"), f"{each['linf']:.4f}", order(each, "linf"),
                f"{each['phi_min']:.1e}", f"{each['phi_max']:.3f}",
            ))  # fmt: skip
    columns = ("tracer", "degrees", "steps", "l1", "order", "l2", "order", "linf", "order", "min", "max")
    nothing = {what: max(run[what] for run in result["runs"]) for what in ("mass", "uniform", "new_extreme", "clipped")}
    facts = (
        f"Greatest at any resolution: change of mass {nothing['mass']:.0e}, uniform tracer off 1 by "
        f"{nothing['uniform']:.0e}, new extreme {nothing['new_extreme']:.0e}, clipped {nothing['clipped']:.0e}."
    )
    if "density" in result["runs"][0]:
        densities = [run["density"] for run in result["runs"]]
        orders = ", ".join(f"{observed_order(*pair):.2f}" for pair in pairwise(densities))
        facts += (
            f" Densest over thinnest air at half time: {result['runs'][-1]['compression']:.0f}. Density at the end off"
            f" 1 by {', '.join(f'{each:.4f}' for each in densities)}: order {orders}."
        )
    return f"{markdown_table(columns, rows, 1)}\n\n{facts}"


def mixing(results: Mapping[str, Figures]) -> str:
    """Return the mixing diagnostics of the correlated pair."""
    rows = [
        (name, f"{run['spacing']:g}", *(f"{run['mixing'][each]:.2e}" for each in ("real", "unmixing", "overshooting")))
        for name, result in results.items()
        for run in result["runs"]
        if "mixing" in run
    ]
    return markdown_table(("flow", "degrees", "real mixing", "range-preserving unmixing", "overshooting"), rows, 1)


def filaments(result: Figures) -> str:
    """Return the remaining share of the area above some thresholds at half time."""
    thresholds = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9")
    rows = [
        (f"{run['spacing']:g}", *(f"{run['filaments'][threshold]:.0f}" for threshold in thresholds))
        for run in result["runs"]
    ]
    return markdown_table(("degrees", *thresholds), rows, 0)


def limits(result: Figures) -> str:
    """Return the largest Courant numbers by flow, criterion and data."""
    columns = ["flow", "cells", "steps", *(f"{criterion}: {data}" for criterion in CRITERIA for data in DATA)]
    rows = [
        (
            flow["text"], " x ".join(str(count) for count in flow["shape"] if count > 1), flow["steps"],
            *(f"{flow[criterion][data]:.3f}" for criterion in CRITERIA for data in DATA),
        )
        for flow in result["flows"]
    ]  # fmt: skip
    return markdown_table(columns, rows, 1)


def slanted(results: Mapping[str, Figures]) -> str:
    """Return the clipped share and the growth of maxima in an oblique wind, by Courant number."""
    names = [name.lower() for name in next(iter(results.values()))]
    columns = ["Courant number", *(f"{name}: {what}" for name in names for what in ("clipped", "new maximum", "l1"))]
    rows = []
    for courant, tracers in results.items():
        row = [f"{float(courant):g}"]
        for each in tracers.values():
            row += [f"{each['clipped']:.1e}", f"{max(each['overshoot'], 0.0):.1e}", f"{each['l1']:.3f}"]
        rows.append(row)
    return markdown_table(columns, rows, 0)


def by_courant(results: Mapping[str, Figures]) -> str:
    """Return the l1 errors of a rotation by Courant number."""
    rows = [(courant, each["steps"], *(f"{each[name]:.4f}" for name in SHAPES)) for courant, each in results.items()]
    return markdown_table(("Courant number", "steps", *SHAPES), rows, 0)


def column(result: Figures) -> str:
    """Return the errors of one column, with observed orders."""
    rows, before = [], None
    for layers, each in result["space"].items():
        orders = ["", ""]
        if before is not None:
            orders = [f"{observed_order(before[what], each[what]):.2f}" for what in ("rising", "diffusion")]
        rows.append((layers, f"{each['rising']:.6f}", orders[0], f"{each['diffusion']:.6f}", orders[1]))
        before = each
    space = markdown_table(("layers", "rising front, l1", "order", "diffusion, greatest error", "order"), rows, 0)
    errors = list(result["time"].values())
    orders = ["", *(f"{observed_order(*pair):.2f}" for pair in pairwise(errors))]
    steps = zip(result["time"], errors, orders, strict=True)
    time = markdown_table(
        ("step", "diffusion, greatest error", "order"), [(f"{s} s", f"{e:.2e}", o) for s, e, o in steps], 0
    )
    return f"{space}\n\n{time}"


def comparison(runs: Sequence[Figures], cells: int) -> str:
    """Return errors and times of all schemes at a resolution."""
    rows = []
    for run in runs:
        if run["cells"] != cells:
            continue
        each = [run["errors"][name] for name in SHAPES]
        norms = [f"{one[norm]:.{digits}f}" for norm, digits in (("l1", 4), ("l2", 4), ("linf", 3)) for one in each]
        least, greatest = min(one["phi_min"] for one in each), max(one["phi_max"] for one in each)
        time = f"{run['nanoseconds_per_cell_and_step']:.0f}", f"{run['seconds']:.2f}"
        rows.append((run["scheme"], run["courant"], run["steps"], *norms, f"{least:.1e}", f"{greatest:.3f}", *time))
    columns = ["scheme", "Courant", "steps", *(f"{norm} {short}" for norm in ("l1", "l2", "linf") for short in "hgc")]
    return markdown_table([*columns, "min", "max", "ns per cell and step", "s in all"], rows, 1)


def many(times: Mapping[str, float]) -> str:
    """Return the time per cell, step and tracer by the number of tracers advected together."""
    row = ("ns per cell, step and tracer", *(f"{t:.1f}" for t in times.values()))
    return markdown_table(("tracers at once", *times), [row], 1)
