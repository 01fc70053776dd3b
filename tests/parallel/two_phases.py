"""Run a small cut of the real case on two groups of ranks of several sizes, and on one rank, in one job of four.

    mpiexec -n 4 python two_phases.py CASES FOLDER

Prints JSON: hashes of the state and the budgets, and the table of both groups. Unused ranks wait, so that one start of
Python serves all runs.
"""

import json
import sys
from pathlib import Path

from mpi4py import MPI
from worlds import bits, digest, group, residual, run_in_groups, wait_for_all

import airshed
from airshed.models.air.case import Case

CUT = (
    "grid.area.lon=[4, 7.25]", "grid.area.lat=[50.5, 52]", "time.length=20 min", "time.spinup=0 h",
    "restart.every=10 min", "output.0.every=10 min", "output.0.fields=[\"O3\", \"NO2\", \"OH\"]",
    "chemistry.integrator=strang", "run.threads=1",
)  # fmt: skip
LIE, SYMMETRIC = "chemistry.integrator=lie", "chemistry.integrator=symmetric"
CONCURRENT = "chemistry.integrator=concurrent"
RUNS = {  # name: ranks with transport, ranks with chemistry, further settings
    "alone": (0, 0, ()),
    "1+1": (1, 1, ("parallel.groups.strategy=funnel",)),
    "2+2": (2, 2, ("parallel.groups.strategy=parallel funnel", "run.threads=2")),
    "both on 2": ("same", 2, ()),
    "alone concurrent": (0, 0, (CONCURRENT,)),
    "2+2 concurrent": (2, 2, (CONCURRENT,)),
    "alone lie": (0, 0, (LIE,)),
    "1+2 lie": (1, 2, (LIE,)),
    "alone symmetric": (0, 0, (SYMMETRIC,)),
    "2+1 symmetric": (2, 1, (SYMMETRIC,)),
    "both on 2 symmetric": ("same", 2, (SYMMETRIC,)),
}


def found(simulation):
    tables = {table.title: [list(row) for row in table.rows] for table in simulation.summary().tables}
    return {
        "bits": bits(simulation), "groups": tables.get("Two groups", []), "residual": residual(simulation),
        "negative": bool((simulation.model.mixing_ratios() < 0.0).any()),
    }  # fmt: skip


def run(case, folder, ranks, **how):
    answer = run_in_groups(case, folder, ranks, found, **how)
    if answer is not None:
        with airshed.open_run(folder) as results:
            answer["bits"]["output"] = digest(*(results[name].values for name in sorted(results.variables)))
    return answer


def case_of(cases, transport, chemistry, *settings):
    groups = [f"parallel.groups.transport={transport}", f"parallel.groups.chemistry={chemistry}"]
    return Case.load(cases / "west-europe", [*CUT, *groups, *settings])


def main(cases, folder):
    answers = {}

    def on_ranks(transport, chemistry, settings, name, **how):
        ranks = group(chemistry if transport == "same" else max(transport + chemistry, 1))
        if ranks is not None:
            answers[name] = run(case_of(cases, transport, chemistry, *settings), folder / name, ranks, **how)
        wait_for_all()

    for name, (transport, chemistry, settings) in RUNS.items():
        on_ranks(transport, chemistry, settings, name)
    resumed = "1+2, then 2+1"
    on_ranks(1, 2, ("parallel.groups.strategy=direct", "parallel.tiles=[2, 1]"), resumed, until="10 min")
    on_ranks(2, 1, (), resumed, resume=True)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


main(Path(sys.argv[1]), Path(sys.argv[2]))
