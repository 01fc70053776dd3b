"""Integrate random states for an hour by every method, compare some with Radau, and write figures (JSON).

python -m validation.random_states NAME ... [--cells 10000] [--compared 50]     emep, cb5, ts1, or mechanism files
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.atomic import write_whole
from airshed.kernels.backends.cpu.cells import CellKernel, CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Tableau, Tolerances, stack_inputs
from airshed.kernels.cells.arguments import CellResults, integrate_cells

from .reference import solve
from .states import States, random_states

FIGURES: Final = Path(__file__).with_name("figures.json")
LENGTH: Final = 3600.0
TOLERANCES: Final = Tolerances(1e-2, 1e4)
"""The defaults of `strang`."""
MOST: Final = 10_000
"""Steps of a cell above which it counts as stuck."""


def integrated(kernel: CellKernel, states: States, method: Tableau) -> CellResults:
    """Return the results of a method for all cells after an hour."""
    solver = CellSolver(kernel, method, TOLERANCES, most_steps=MOST)
    inputs = stack_inputs(kernel, states.values, (), states.y.shape[1])
    return integrate_cells(solver, states.y, inputs, 0.0, LENGTH, first=0.01 * LENGTH)


def figures_of(name: str, cells: int, compared: int) -> dict[str, Any]:
    """Return the figures of a mechanism by method: stuck cells, attempted steps, errors over the tolerance."""
    states = random_states(name, cells)
    kernel = compile_chemistry(states.network)
    expected = np.array([solve(states, cell, LENGTH) for cell in range(compared)]).T
    # Radau may give negative values.
    known = np.isfinite(expected).all(axis=0) & (expected >= -TOLERANCES.absolute).all(axis=0)
    tolerated = TOLERANCES.absolute + TOLERANCES.relative * np.maximum(expected, states.y[:, :compared])
    figures: dict[str, Any] = {}
    for method in METHODS.values():
        found = integrated(kernel, states, method)
        tried = found.accepted + found.rejected
        error = np.sqrt(np.mean(((found.y[:, :compared] - expected) / tolerated) ** 2, axis=0))[known]
        figures[method.name] = {
            "stuck": int((found.reached < LENGTH).sum()), "mean steps": float(tried.mean()),
            "most steps": int(tried.max()),
            "compared": int(known.sum()), "median error": float(np.median(error)), "greatest error": float(error.max()),
        }  # fmt: skip
        print(name, method.name, figures[method.name], flush=True)
    return figures


def main() -> None:
    """Run the requested mechanisms, and add their figures."""
    parser = argparse.ArgumentParser(prog="python -m validation.random_states")
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--compared", type=int, default=50)
    given = parser.parse_args()
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    for name in given.names:
        figures[Path(name).stem] = figures_of(name, given.cells, given.compared)
        with write_whole(FIGURES) as part:
            part.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
