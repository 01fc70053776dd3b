"""Checks of `airshed verify` in their order, and the report of their figures."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from airshed.core.report import Cell, Report, Table
from airshed.verify import adjoint, column, convergence, pasture, pasture_reference, west_europe
from airshed.verify.chemistry import cells, emep, micm, networks, orders, problems
from airshed.verify.figure import Figure
from airshed.verify.transport import driven, plane, sphere

COLUMNS: Final = ("test", "figure", "value", "threshold", "reference", "holds")
DEPOSITION: Final = {"scheme": "constant", "velocities": {"TRACER": "0.3 cm/s", "TRACER2": "1 cm/s"}}

Check = Callable[[], list[Figure]]


def checks(*, full: bool = False) -> Mapping[str, Check]:
    """Return the checks by name; `full` adds finer grids, more random networks and a large mechanism."""
    resolutions = (50, 100, 200) if full else (50, 100)
    spacings = (3.0, 1.5) if full else (3.0,)
    found: dict[str, Check] = {
        "rotation": lambda: plane.check("rotation", resolutions),
        "deformation": lambda: plane.check("swirl", resolutions),
        "rotation on the sphere": lambda: [*sphere.check_turn(), *sphere.check_path()],
        "rotation on map projections": sphere.check_projected,
        "deformation on the sphere": lambda: sphere.check_deformation(spacings),
        "squeezed air": driven.check,
        "Courant numbers": driven.check_courant,
        "column": column.check,
        "sources and sinks": column.check_sources,
        "uniform mixing ratio": lambda: west_europe.check_uniform(west_europe.real_case()),
        "budget": lambda: west_europe.check_budget(west_europe.real_case(deposition=DEPOSITION)),
        "families": lambda: west_europe.check_drift(west_europe.cut_case("24 h", time={"spinup": "24 h"})),
        "sweeps": west_europe.check_convergence,
        "threads and precision": west_europe.check_threads,
        "Strang splitting": lambda: west_europe.check_strang(DEPOSITION),
        "integrators side by side": west_europe.check_chemistry,
        "order of integrators": convergence.check,
        "order in time": west_europe.check_orders,
        "restart": west_europe.check_restart,
        "published end states": problems.check,
        "EMEP end state": emep.check,
        "order of Rosenbrock methods": orders.check,
        "random networks": lambda: networks.check(100 if full else 10),
        "many cells": cells.check,
        "dot products": lambda: adjoint.check_products(adjoint.small_case()),
        "dot products, split": lambda: adjoint.check_products(adjoint.small_case(integrator="strang")),
        "Taylor remainder": lambda: adjoint.check_taylor(adjoint.small_case()),
        "gradient": adjoint.check_gradient,
        "comparison with MICM": lambda: [*micm.check(), *(micm.check_many() if full else [])],
        "pasture in random cells": lambda: pasture.check(full=full),
    }
    folder = pasture_reference.reference_folder()
    if folder is not None:
        found["comparison with GRASP"] = partial(pasture_reference.check_both, folder)
    return found


def run(*, full: bool = False, progress: Callable[[str], object] | None = None) -> Report:
    """Run all checks and return a table of their figures; the report fails if a figure misses its threshold.

    progress  called with the name of each check before it runs
    """
    figures = []
    for name, check in checks(full=full).items():
        if progress is not None:
            progress(name)
        figures += check()
    lacking = pasture_reference.reference_folder() is None
    return report(figures, {"not run": pasture_reference.LACKING} if lacking else {})


def report(figures: Sequence[Figure], notes: Mapping[str, Cell] = MappingProxyType({})) -> Report:
    """Return figures as a report, with notes after its verdict."""
    missed = sum(not figure.ok for figure in figures)
    rows = [
        (each.test, each.what, each.value, each.threshold, each.reference, each.ok)
        for each in sorted(figures, key=lambda each: each.ok)
    ]
    verdict = "all hold" if missed == 0 else f"{missed} of {len(figures)} figures miss their threshold, listed first"
    facts: dict[str, Cell] = {"figures": len(figures), "verdict": verdict, **notes}
    return Report("Verification", [Table("Figures", COLUMNS, rows)], facts, missed == 0)
