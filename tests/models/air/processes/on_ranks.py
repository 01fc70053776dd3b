"""Run many processes together on one, two and three ranks, one run after the other, in an MPI job of three.

    mpiexec -n 3 python on_ranks.py FOLDER

FOLDER contains `case.toml`. The program prints digests of the state and the budgets of each run as JSON. With `imex` a
parameter of a process changes during the run.
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "parallel"))

from mpi4py import MPI
from worlds import bits, group, run_in_groups, wait_for_all

import airshed
from airshed.core.errors import CaseError

GROUPS = ("parallel.groups.transport=1", "parallel.groups.chemistry=2")
RUNS = {
    "imex": ((1, ()), (2, ("parallel.tiles=[1, 2]",)), (3, ())),
    "strang": ((1, ()), (3, ()), (3, GROUPS)),
    "strang transport": ((1, ()), (2, ()), (3, GROUPS)),
}
OF = {
    "imex": ("chemistry.integrator=imex",),
    "strang": ("chemistry.integrator=strang",),
    "strang transport": ("chemistry.integrator=strang", "transport.vertical=with chemistry"),
}


def set_on_the_way(case, ranks):
    with airshed.Simulation(case, ranks=ranks) as simulation:
        simulation.run(until="10 min")
        simulation["sea_surface_strength"] = 2.0
        assert float(simulation["sea_surface_strength"]) == 2.0
        simulation.run()
        return bits(simulation)


def set_differently(case, ranks):
    """Return the error message when ranks set different values."""
    with airshed.Simulation(case, ranks=ranks) as simulation:
        try:
            simulation["sea_surface_strength"] = 1.0 + ranks.rank
        except CaseError as error:
            return str(error)
    return "nothing"


def main(folder):
    answers = {}
    pair = group(2)
    if pair is not None:
        answers["differently"] = set_differently(airshed.Case.load(folder).allowing_code(), pair)
    wait_for_all()
    for way, runs in RUNS.items():
        for size, settings in runs:
            ranks = group(size)
            if ranks is not None:
                case = airshed.Case.load(folder, [*OF[way], *settings]).allowing_code()
                steered = way == "imex"
                found = set_on_the_way(case, ranks) if steered else run_in_groups(case, None, ranks, bits)
                answers[f"{way}: {size} {' '.join(settings)}"] = found
            wait_for_all()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


main(Path(sys.argv[1]))
