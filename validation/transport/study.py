"""The transport study: resolution, Courant numbers, pictures; writes README.md and the PNG files beside it.

python validation/transport/study.py        about four minutes on one core
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib import pyplot as plt

import airshed.air.model
from airshed.air.case import Case
from airshed.runtime.checks import carried, column
from airshed.runtime.checks.carried import REFERENCE, Carried
from airshed.runtime.checks.figure import observed_order
from airshed.runtime.checks.flow import DAY, SHAPES, SIDE, Array, plane_case, shapes, swirl
from airshed.runtime.simulation import Simulation

HERE = Path(__file__).parent
RESOLUTIONS = (50, 100, 200)
COURANT_NUMBERS = (0.1, 0.2, 0.25, 0.3, 0.32, 0.34, 0.36, 0.38, 0.4, 0.42, 0.45, 0.48, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)
ERROR_COURANTS = (0.1, 0.2, 0.3, 0.4, 0.5)
TRACERS = ("SMOOTH", "CYLINDER", "ROUGH")
CELLS = 60


@dataclass(frozen=True)
class Slanted:
    """What a slanting wind makes of a tracer at one Courant number: share clipped at zero, overshoot, l1 error."""

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


def slanted(courant: float) -> dict[str, Slanted]:
    """Carry the tracers 24 cells east and 12 north; every cell has the same sum of Courant numbers.

    Neither along an axis nor along the diagonal, where rough data stay positive at larger numbers.
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
    northward = speed * north / east / np.cos(np.radians(grid.lat_faces))[:, None] * np.ones(CELLS)
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
            result[name] = Slanted(clipped, float(after.max() - before.max()), l1)
    return result


def largest(results: dict[float, dict[str, Slanted]], name: str, bound: str) -> float:
    """Return the greatest Courant number up to which a tracer is never clipped, or makes no new maximum."""
    kept = 0.0
    for courant, each in results.items():
        if getattr(each[name], bound) > 0.0:
            break
        kept = courant
    return kept


def norms_table(flow: str, results: dict[int, Carried]) -> str:
    """Return the error norms of a flow by shape and resolution, with observed orders."""
    lines = [
        "| shape | cells | steps | l1 | order | l2 | linf | least | greatest | reference l1 |",
        "|---|" + "---:|" * 9,
    ]
    for number, name in enumerate(SHAPES):
        before = None
        for cells, result in results.items():
            each, field = result.errors[name], result.field[number]
            order = "" if before is None else f"{observed_order(before, each.l1):.2f}"
            reference = f"{REFERENCE[flow][name]:g}" if cells == 100 else ""
            lines.append(
                f"| {name} | {cells} x {cells} | {result.steps} | {each.l1:.4f} | {order} | {each.l2:.4f} "
                f"| {each.linf:.4f} | {field.min():.1e} | {field.max():.4f} | {reference} |"
            )
            before = each.l1
    masses = ", ".join(f"{result.mass:.1e}" for result in results.values())
    clipped = max(result.clipped for result in results.values())
    return "\n".join([*lines, "", f"Relative change of mass: {masses}. Clipped at zero: {clipped:.1e} of it at most."])


def courant_table(results: dict[float, dict[str, Slanted]]) -> str:
    """Return what was clipped and how far maxima grew, by Courant number."""
    head = "| Courant number | " + " | ".join(f"{name.lower()}: clipped | new maximum | l1" for name in TRACERS) + " |"
    lines = [head, "|---:|" + "---:|" * 9]
    for courant, each in results.items():
        cells = [f"{r.clipped:.1e} | {max(r.overshoot, 0.0):.1e} | {r.l1:.3f}" for r in each.values()]
        lines.append(f"| {courant:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def error_table(results: dict[float, Carried]) -> str:
    """Return the l1 errors of a rotation at 100 x 100 cells by Courant number."""
    lines = ["| Courant number | steps | " + " | ".join(SHAPES) + " |", "|---:|" + "---:|" * 4]
    for courant, each in results.items():
        errors = " | ".join(f"{each.errors[name].l1:.4f}" for name in SHAPES)
        lines.append(f"| {courant:g} | {each.steps} | {errors} |")
    return "\n".join(lines)


def column_table() -> str:
    """Return the errors of vertical transport and diffusion by resolution, with observed orders."""
    lines = ["| layers | rising front, l1 | order | diffusion, greatest error | order |", "|---:|" + "---:|" * 4]
    before = None
    for layers in (20, 40, 80):
        lift, mix = column.lift(layers).l1, column.error_of_space(layers, "30 s")
        orders = (
            ("", "")
            if before is None
            else tuple(f"{observed_order(*p):.2f}" for p in zip(before, (lift, mix), strict=True))
        )
        lines.append(f"| {layers} | {lift:.6f} | {orders[0]} | {mix:.6f} | {orders[1]} |")
        before = (lift, mix)
    lines += ["", "| step | diffusion, greatest error | order |", "|---:|---:|---:|"]
    last = None
    for step in (1200, 600, 300, 150):
        error = column.error_of_time(20, f"{step} s")
        lines.append(f"| {step} s | {error:.2e} | {'' if last is None else f'{observed_order(last, error):.2f}'} |")
        last = error
    return "\n".join(lines)


def draw_swirl(cells: int = 100) -> None:
    """Draw the shapes at the start, when the deformation is greatest, and when they are back."""
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


def draw_errors(flows: dict[str, dict[int, Carried]]) -> None:
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


def draw_courant(results: dict[float, dict[str, Slanted]]) -> None:
    """Draw what had to be clipped, and the error, against the Courant number."""
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


def save(figure: mpl.figure.Figure, name: str) -> None:
    """Write a picture without what changes from one run to the next."""
    figure.savefig(HERE / f"{name}.png", dpi=90, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Run everything and write README.md."""
    mpl.use("Agg")
    flows = {flow: {cells: carried.carry(flow, cells) for cells in RESOLUTIONS} for flow in REFERENCE}
    by_courant = {courant: carried.carry("rotation", 100, courant) for courant in ERROR_COURANTS}
    airshed.air.model.LARGEST_COURANT = np.inf  # the model refuses fixed steps beyond it; here they are the question
    courants = {courant: slanted(courant) for courant in COURANT_NUMBERS}
    draw_swirl()
    draw_errors(flows)
    draw_courant(courants)
    limits = {
        f"{name}_{bound}": largest(courants, name, bound) for name in TRACERS for bound in ("clipped", "overshoot")
    }
    text = (HERE / "README.in.md").read_text(encoding="utf-8")
    text = text.format(
        rotation=norms_table("rotation", flows["rotation"]),
        swirl=norms_table("swirl", flows["swirl"]),
        default=courants[0.4]["ROUGH"].clipped,
        most=courants[0.5]["ROUGH"].clipped,
        courant=courant_table(courants),
        by_courant=error_table(by_courant),
        column=column_table(),
        **limits,
    )
    (HERE / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
