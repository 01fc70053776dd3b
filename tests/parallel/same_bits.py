"""Run a small cut of the real case on several numbers of ranks, one after the other, in one MPI job of six.

    mpiexec -n 6 python same_bits.py CASES FOLDER

Prints JSON: hashes of the state, the budgets, the summary and the output. Unused ranks wait, so that one start of
Python serves all runs.
"""

import hashlib
import json
import sys
from pathlib import Path

from mpi4py import MPI
from worlds import digest, group, wait_for_all

import airshed
from airshed.models.air.case import Case

CUT = (
    "grid.area.lon=[4, 9.25]", "grid.area.lat=[50.5, 52.5]", "time.length=20 min", "time.spinup=0 h",
    "restart.every=10 min", "output.0.every=10 min", "output.0.fields=[\"O3\", \"NO2\", \"OH\"]",
)  # fmt: skip
RUNS = {  # integrator: ranks, their tiles, threads
    "imex": (
        (1, "auto", 1), (1, "auto", 2), (2, "[2, 1]", 2), (2, "[1, 2]", 1), (3, "[1, 3]", 1), (4, "[2, 2]", 1),
        (6, "[2, 3]", 1),
    ),
    "strang": (
        (1, "auto", 1), (1, "auto", 2), (2, "[1, 2]", 2), (3, "[3, 1]", 1), (4, "[2, 2]", 1), (6, "auto", 1),
    ),
}  # fmt: skip


def of_output(folder):
    with airshed.open_run(folder) as results:
        return digest(*(results[name].values for name in sorted(results.variables)))


def of_summary(report):
    """Return a summary without wall times."""
    return {table.title: table.rows for table in report.tables if table.title != "Wall time"} | dict(report.facts)


def run(cases, folder, ranks, settings, *, until=None, resume=False):
    """Return the results; None if the run is stopped early."""
    case = Case.load(cases / "west-europe", [*CUT, *settings])
    with airshed.Simulation(case, output=folder, resume=resume, ranks=ranks) as simulation:
        if until is not None:
            simulation.run(until=until)
            return None
        simulation.run()
        model, summary = simulation.model, of_summary(simulation.summary())
        state = [simulation.model.subdomain.whole(model.mixing_ratios())]
        result = {
            "state": digest(*state), "budget": digest(model.budget.amounts, model.budget.imbalance, model.amounts()),
            "summary": hashlib.sha256(repr(summary).encode()).hexdigest()[:16],
            "field": digest(simulation["O3"].values),
        }  # fmt: skip
    return result | ({"output": of_output(folder)} if ranks.rank == 0 else {})


def all_runs(cases, folder):
    found = {}
    for integrator, runs in RUNS.items():
        chosen = f"chemistry.integrator={integrator}"
        for number, (size, tiles, threads) in enumerate(runs):
            ranks, name = group(size), f"{integrator}-{number}"
            if ranks is not None:
                settings = [chosen, f"parallel.tiles={tiles}", f"run.threads={threads}"]
                found[f"{integrator} {size} {tiles} {threads}"] = run(cases, folder / name, ranks, settings)
            wait_for_all()
        first, second = group(3), group(2)  # three ranks begin the run and two end it
        if first is not None:
            run(cases, folder / f"{integrator}-cut", first, [chosen], until="10 min")
        wait_for_all()
        if second is not None:
            found[f"{integrator} resumed"] = run(cases, folder / f"{integrator}-cut", second, [chosen], resume=True)
        wait_for_all()
    return found


def main(cases, folder):
    answers = all_runs(cases, folder)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


main(Path(sys.argv[1]), Path(sys.argv[2]))
