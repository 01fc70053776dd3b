"""Checks of the adjoint: dot products with the tangent, Taylor remainders, and a gradient against complete runs."""

from collections.abc import Mapping
from typing import Any, Final

from airshed.core.arrays import Array
from airshed.inverse.cost import CostOfFunction
from airshed.inverse.gradient import gradient
from airshed.inverse.reverse.direction import EMISSION
from airshed.inverse.verify.derivative_tests import ORDER, dot_product_test, taylor_test
from airshed.mechanism import load_mechanism
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure
from airshed.verify.west_europe import MORNING, cut_case

STEPS: Final = 4
_LON, _LAT = 6.6, 51.2
CHIMNEY: Final[Mapping[str, Any]] = {"species": "NO", "lon": _LON, "lat": _LAT, "height": "10 m", "rate": "100 mol/s"}
SHARE: Final = 1e-3
"""Relative change of the rate of the chimney."""

_RATE: Final = 100.0  # [mol/s]
_LENGTH: Final = 1200.0  # [s]
_MEASURED: Final = ("NO", "NO2", "O3", "HNO3")
_EXACT: Final = "exact: 0"


def small_case(rate: float = _RATE, integrator: str = "imex") -> Case:
    """Return 20 minutes of a morning in a part of west-europe, with an added chimney of a rate [mol/s]."""
    chimney = {**CHIMNEY, "rate": f"{rate!r} mol/s"}
    whole = cut_case("20 min", start=MORNING)
    area = {"lon": [5.5, 7.5], "lat": [50.0, 52.0]}  # 8 x 8 columns
    return cut_case(
        "20 min", start=MORNING, grid={**whole.to_dict()["grid"], "area": area}, chemistry={"integrator": integrator},
        emissions={**whole.to_dict()["emissions"], "point": [chimney]},
    )  # fmt: skip


def check_products(case: Case, steps: int = STEPS) -> list[Figure]:
    """Return the errors of the dot products of a case, by the kind of input."""
    found = dot_product_test(case, steps=steps)
    by = "" if case.chemistry.integrator == "imex" else " by Strang splitting"
    test = f"adjoint and tangent, {found.steps} steps of full chemistry{by}"
    figures = [
        Figure(test, f"dot products by {kind}, relative error", error, found.limit, reference=_EXACT)
        for kind, error in found.errors.items()
    ]
    least = min(map(abs, found.by_adjoint.values()))
    return [*figures, Figure(test, "least of the products, there at all", least, 1e-12, True, "exact: above 0")]


def check_taylor(case: Case, steps: int = STEPS) -> list[Figure]:
    """Return the order of the Taylor remainder for changes of the emission."""
    found = taylor_test(case, kind=EMISSION, steps=steps)
    return [Figure("tangent", "order of the Taylor remainder, emission", found.order, ORDER, True, "exact: 2")]


def check_gradient() -> list[Figure]:
    """Return the relative error of a gradient against two complete runs, with a larger and a smaller rate of a chimney.

    The central difference also tests the clock, the sources and the chimney of the model.
    """
    case = small_case()
    found = gradient(case, CostOfFunction(_LENGTH, _MEASURED, measure))
    row, column = _place(case)
    number = load_mechanism(case.chemistry.mechanism).index(CHIMNEY["species"])
    worth = sum(float(each[number, 0, row, column]) for each in found.adjoints.sources.values())
    more, less = (_measured(small_case(_RATE * (1.0 + share))) for share in (SHARE, -SHARE))
    difference = (more - less) / (2.0 * SHARE * _RATE)
    error = abs(worth / difference - 1.0)
    what = "by the rate of a chimney, against whole runs"
    return [Figure("gradient, 20 min of full chemistry", what, error, 1e-5, reference="central difference")]


def measure(q: Mapping[str, Array]) -> tuple[float, Mapping[str, Array]]:
    """Return the weighted mean of the lowest level, and its derivative; the weights of species are 1, 2, 3 ..."""
    weights = {}
    for times, (name, each) in enumerate(q.items(), 1):
        weights[name] = 0.0 * each
        weights[name][0] = times / each[0].size
    return float(sum((weights[name] * q[name]).sum() for name in q)), weights


def _measured(case: Case) -> float:
    with Simulation(case) as simulation:
        simulation.run(until=_LENGTH)
        return measure({name: simulation[name].values for name in _MEASURED})[0]


def _place(case: Case) -> tuple[int, int]:
    """Return the row and the column of the chimney."""
    grid: Any = case.make_grid()
    row = int(abs(grid.y - _LAT).argmin())
    return row, int(abs(grid.x - _LON).argmin())
