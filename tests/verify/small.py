"""Checks of `airshed verify` with a smaller size: coarse grids, few columns, short times."""

from airshed.verify import checks, column, pasture, west_europe
from airshed.verify.chemistry import cells, emep, networks, orders, problems
from airshed.verify.figure import Figure, observed_order
from airshed.verify.pasture import model, random_cells
from airshed.verify.transport import plane

LEAST_ORDER = {"rotation": 1.7, "swirl": 1.1}
"""Smallest order on coarse grids; a first-order scheme has less than 0.5."""


def carried_coarsely(flow):
    """Return figures of a flow on coarse grids."""
    coarse, fine = (plane.carry(flow, cells) for cells in (25, 50))
    order = observed_order(*(each.errors["cosine hump"].l1 for each in (coarse, fine)))
    extremes = max(fine.worst("overshoot"), fine.worst("undershoot"))
    return [
        Figure(flow, "order of l1, cosine hump, 25 to 50", order, LEAST_ORDER[flow], at_least=True),
        Figure(flow, "change of mass", abs(fine.mass), 1e-12),
        Figure(flow, "largest new extreme", extremes, 1e-12),
        Figure(flow, "clipped at zero, share of mass", fine.clipped, 1e-12),
    ]


def few_columns(length, **sections):
    """Return a case of full chemistry in 3 x 2 columns."""
    return west_europe.part(length, west_europe._FEW, **sections)


FEW = "hires", "pollu"
"""Mechanisms whose published end states are compared."""

SMALL = {
    "rotation": lambda: carried_coarsely("rotation"),
    "deformation": lambda: carried_coarsely("swirl"),
    "column": column.check,
    "sources and sinks": column.check_sources,
    "uniform mixing ratio": lambda: west_europe.check_uniform(west_europe.real_case("2 h")),
    "budget": lambda: west_europe.check_budget(west_europe.real_case("2 h", deposition=checks.DEPOSITION)),
    "families": lambda: west_europe.check_drift(west_europe.cut_case("1 h", chemistry={"sweeps": 4})),
    "families, Strang": lambda: west_europe.check_drift(few_columns("10 min", chemistry={"integrator": "strang"})),
    "sweeps": lambda: west_europe.check_convergence({16: 1e-6}),
    "published end states": lambda: problems.check(
        {name: problem for name, problem in problems.PROBLEMS.items() if problem.mechanism in FEW}
    ),
    "EMEP end state": emep.check,
    "order of Rosenbrock methods": orders.check,
    "random networks": lambda: networks.check(4),
    "many cells": lambda: cells.check(200),
    "pasture in random cells": lambda: pasture.check_derivatives(
        model("all options"), random_cells(60, 120, seed=3), "all options"
    ),
}
"""Checks of smaller size."""
