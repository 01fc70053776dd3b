"""Pasture in cells with random soils, plants and weather: what must hold in any of them, and derivatives of a day."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.formula import evaluate_all
from airshed.kernels.cells.formulas import Precision
from airshed.models.pasture.fields import LAYERS, POOLS
from airshed.models.pasture.summary import DRY_MATTER, WATER
from airshed.process.points import Points
from airshed.verify.figure import Figure
from airshed.verify.pasture_cells import OPTIONS, SMOOTH, Cells, model, random_cells

Array = npt.NDArray[np.float64]

_CLOSED: Final[Mapping[Precision, float]] = {"double": 1e-9, "single": 1e-4}
_FULL: Final[Mapping[Precision, float]] = {"double": 1e-10, "single": 1e-3}
_STORES: Final = (*(f"water_{layer}" for layer in LAYERS), *POOLS, "litter")


def check(*, full: bool = False) -> list[Figure]:
    """Return the figures of properties, balances, precisions and derivatives; `full` takes more cells and days."""
    cells = random_cells(2000 if full else 300, 1096 if full else 400, seed=16)
    found = []
    for options in OPTIONS:
        points = model(options)
        for precision in ("double", "single"):
            found += check_properties(points, cells, options, precision)
        found += [check_twin(points, cells, options), *check_derivatives(points, cells, options)]
    return found


def check_properties(points: Points, cells: Cells, options: str, precision: Precision) -> list[Figure]:
    """Return what is below 0, above saturation, or no number on any evening, and the balances of the whole run."""
    step = points.compiled(precision)
    names = [name for name in points.outputs if name in cells.state]
    each = {name: np.empty((cells.days, cells.state["litter"].size)) for name in names}
    step.advance({**cells.parameters, **cells.weather, **points.numbers, **cells.state}, cells.days, each=each)
    step.close()
    return figures_of(each, cells, f"pasture {options}, {precision}", precision)


def figures_of(each: Mapping[str, Array], cells: Cells, name: str, precision: Precision) -> list[Figure]:
    """Return the figures of a run: `each` state (day, cell) by its name."""
    least = min(float(np.min(each[store])) for store in _STORES)
    over = max(float((each[f"water_{n}"] - cells.parameters[f"saturation_{n}"]).max()) for n in LAYERS)
    strange = sum(int(np.count_nonzero(~np.isfinite(values))) for values in each.values())
    now = {**cells.state, **{state: values[-1] for state, values in each.items()}}
    figures = [
        Figure(name, "least store [mm, kg/ha]", least, 0.0, at_least=True, reference="0"),
        Figure(name, "water above saturation [mm]", over, _FULL[precision], reference="0"),
        Figure(name, "values that are no numbers", strange, 0, reference="0"),
    ]
    for balance in (WATER, DRY_MATTER):
        residual = float(balance.relative_residual(now, cells.state).max())
        figures.append(Figure(name, f"balance of {balance.text}, worst cell", residual, _CLOSED[precision], False, "0"))
    return figures


def check_twin(points: Points, cells: Cells, options: str) -> Figure:
    """Return how far code and NumPy are apart after a day, by the size of each output."""
    values, step = {**cells.day(0), **points.numbers}, points.compiled()
    by_code, by_numpy = step(values), points.reference(values)
    step.close()
    apart = [
        float((np.abs(one - other) / (1.0 + np.abs(other))).max())
        for one, other in zip(by_code, by_numpy.values(), strict=True)
    ]
    return Figure(f"pasture {options}", "code beside NumPy", max(apart), 1e-11, reference="round-off")


def check_derivatives(points: Points, cells: Cells, options: str) -> list[Figure]:
    """Return the dot product of tangent and adjoint of a day, and the tangent beside central differences.

    Differences are by parts of the inputs: an input that is 0, such as an empty pool, stands on a kink and stays.
    """
    values, random = {**cells.day(1), **points.numbers}, np.random.default_rng(4)
    wrt = [name for name in SMOOTH if name in points.inputs]
    changes = {name: random.normal(size=values["rain"].shape) * (1.0 + np.abs(values[name])) for name in wrt}
    seeds = [random.normal(size=values["rain"].shape) for _ in points.outputs]
    adjoints = evaluate_all(
        points.adjoint(wrt).outputs, {**values, **{f"adjoint_{n}": each for n, each in enumerate(seeds)}}
    )
    product = dot_product(_tangents(points, values, changes), seeds, adjoints, list(changes.values()))
    values = {**cells.smooth_day(1), **points.numbers}
    changes = {name: random.normal(size=values["rain"].shape) * 1e-2 * np.abs(values[name]) for name in wrt}
    apart, decided = beside_differences(points, values, changes, _tangents(points, values, changes))
    name = f"pasture {options}"
    return [
        Figure(name, "dot product of tangent and adjoint", product, 1e-12, reference="round-off"),
        Figure(name, "tangent beside differences", apart, 1e-5, reference="0"),
        Figure(name, "part of values where differences are smooth", decided, 0.9, at_least=True, reference="1"),
    ]


def _tangents(points: Points, values: Mapping[str, Array], changes: Mapping[str, Array]) -> list[Array]:
    moved = {f"{name}_tangent": each for name, each in changes.items()}
    return evaluate_all(points.tangent(list(changes)).outputs, {**values, **moved})


def dot_product(
    tangents: Sequence[Array], seeds: Sequence[Array], adjoints: Sequence[Array], changes: Sequence[Array]
) -> float:  # fmt: skip
    """Return the greatest difference of <w, M d> and <M^T w, d> of a cell, by the size of what they add up."""
    left = np.sum([one * other for one, other in zip(tangents, seeds, strict=True)], axis=0)
    right = np.sum([one * other for one, other in zip(adjoints, changes, strict=True)], axis=0)
    size = np.sum([np.abs(one * other) for one, other in zip(adjoints, changes, strict=True)], axis=0)
    return float((np.abs(left - right) / (1.0 + size)).max())


def beside_differences(
    points: Points, values: Mapping[str, Array], changes: Mapping[str, Array], tangents: Sequence[Array]
) -> tuple[float, float]:
    """Return how far tangents are from central differences where these are smooth, and the part where they are.

    Between kinks two differences, of one width and of half of it, agree; a kink within them sets them apart.
    """
    wide, narrow = (_differences(points, values, changes, width) for width in (2e-4, 1e-4))
    apart, smooth = 0.0, 0
    for tangent, one, other in zip(tangents, wide, narrow, strict=True):
        size = 1e-3 + np.abs(other)
        same = np.abs(one - other) < 1e-6 * size
        smooth += int(np.count_nonzero(same))
        apart = max(apart, float((np.abs(tangent - other) / size)[same].max(initial=0.0)))
    return apart, smooth / (len(tangents) * tangents[0].size)


def _differences(
    points: Points, values: Mapping[str, Array], changes: Mapping[str, Array], width: float
) -> list[Array]:  # fmt: skip
    up, down = (
        points.reference({**values, **{name: values[name] + sign * width * each for name, each in changes.items()}})
        for sign in (1.0, -1.0)
    )
    return [(up[name] - down[name]) / (2.0 * width) for name in points.outputs]
