"""What `airshed verify` runs: the checks in order, and their figures as a report."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final

from airshed.core.report import Cell, Report, Table
from airshed.kernels.cells.formulas import Precision
from airshed.verify import adjoint, column, convergence, integrators, pasture, pasture_reference, real, sameness
from airshed.verify.chemistry import cells, emep, families, micm, networks, orders, problems
from airshed.verify.figure import Figure
from airshed.verify.transport import carried, courant, driven, turned

COLUMNS: Final = ("test", "figure", "value", "threshold", "reference", "holds")
DEPOSITION: Final = {"scheme": "constant", "velocities": {"TRACER": "0.3 cm/s", "TRACER2": "1 cm/s"}}

PRECISIONS: Final[tuple[Precision, ...]] = ("double", "single")

Check = Callable[[], list[Figure]]


def checks(*, full: bool = False) -> Mapping[str, Check]:
    """Return the checks by name; `full` adds finer grids, more random networks and a large mechanism."""
    resolutions = (50, 100, 200) if full else (50, 100)
    spacings = (3.0, 1.5) if full else (3.0,)
    return {
        "rotation": lambda: carried.check("rotation", resolutions),
        "deformation": lambda: carried.check("swirl", resolutions),
        "rotation on the sphere": lambda: [*turned.check_turn(), *turned.check_path()],
        "deformation on the sphere": lambda: turned.check_deformation(spacings),
        "squeezed air": driven.check,
        "Courant numbers": courant.check,
        "column": column.check,
        "sources and sinks": column.check_sources,
        "uniform mixing ratio": lambda: real.check_uniform(real.real_case()),
        "budget": lambda: real.check_budget(real.real_case(deposition=DEPOSITION)),
        "families": lambda: families.check_drift(families.cut_case("24 h", time={"spinup": "24 h"})),
        "sweeps": families.check_convergence,
        "threads and precision": sameness.check,
        "Strang splitting": lambda: integrators.check_strang(DEPOSITION),
        "integrators side by side": integrators.check_chemistry,
        "order of integrators": convergence.check,
        "order in time": integrators.check_orders,
        "restart": integrators.check_restart,
        "published end states": problems.check,
        "EMEP end state": emep.check,
        "order of Rosenbrock methods": orders.check,
        "random networks": lambda: networks.check(100 if full else 10),
        "many cells": cells.check,
        "dot products": lambda: adjoint.check_products(adjoint.small_case()),
        "dot products, split": lambda: adjoint.check_products(adjoint.small_case(integrator="strang")),
        "Taylor remainder": lambda: adjoint.check_taylor(adjoint.small_case()),
        "gradient": adjoint.check_gradient,
        "beside MICM": lambda: [*micm.check(), *(micm.check_many() if full else [])],
        "pasture in random cells": lambda: pasture.check(full=full),
        **_beside_grasp(),
    }


def _beside_grasp() -> Mapping[str, Check]:
    folder = pasture_reference.reference_folder()
    if folder is None:
        return {}
    return {"pasture beside GRASP": lambda: [*chain(*(pasture_reference.check(folder, each) for each in PRECISIONS))]}


def run(*, full: bool = False, progress: Callable[[str], object] | None = None) -> Report:
    """Run all checks and return a table of their figures; the report is not ok when one misses its threshold.

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
    """Return figures as a report, with notes beside its verdict."""
    missed = sum(not figure.ok for figure in figures)
    rows = [
        (each.test, each.what, each.value, each.threshold, each.reference, each.ok)
        for each in sorted(figures, key=lambda each: each.ok)
    ]
    verdict = "all hold" if missed == 0 else f"{missed} of {len(figures)} figures miss their threshold, listed first"
    facts: dict[str, Cell] = {"figures": len(figures), "verdict": verdict, **notes}
    return Report("Verification", [Table("Figures", COLUMNS, rows)], facts, missed == 0)
