"""Run a case of which half is dark and clean on several ranks, with and without load balancing, in one MPI job of
three.

    mpiexec -n 3 python balanced.py CASES

Prints JSON: a hash of all results, cell steps by rank before and after balancing, and the columns moved.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from mpi4py import MPI
from worlds import digest, group, wait_for_all

import airshed
from airshed.case.failure import ChemistryFailure
from airshed.models.air.case import Case
from airshed.models.air.programs import context as stepping
from airshed.parallel.redistribution.costs import FREE, LinearCost

HALF_DARK = (
    "grid.area.lon=[-80, 40]", "grid.area.lat=[40, 56]", 'grid.spacing={lon="5 deg", lat="2 deg"}',
    'grid.layers=["50 m", "150 m", "400 m", "1000 m", "2000 m", "4000 m"]',
    "time.start=2022-03-21T17:00:00Z", "time.length=40 min", "time.step=10 min", "chemistry.integrator=strang",
    "emissions.area.0.lon=[-80, -20]", "emissions.area.0.lat=[40, 56]", "run.threads=1",
)  # fmt: skip
DEAR = LinearCost(10.0, 0.0)
RUNS = (  # ranks, their tiles, balance, cost of messages
    (1, "auto", "false", FREE), (2, "[1, 2]", "false", FREE), (2, "[1, 2]", "true", DEAR),
    (2, "[1, 2]", '"auto"', FREE), (2, "[1, 2]", '"auto"', DEAR), (3, "[1, 3]", "true", DEAR),
    (3, "[3, 1]", "true", DEAR),
)  # fmt: skip


def chemistry_of(simulation):
    return simulation.model.executor.cells.chemistry


def fewest_steps(simulation, most_steps):
    """Make cells fail that need more steps."""
    chemistry = chemistry_of(simulation)
    chemistry.solver = replace(chemistry.solver, most_steps=most_steps)


def results(simulation):
    """Return all results: state, budgets, initial steps, and the outcome of cells."""
    whole = simulation.model.subdomain.whole
    layout, first = simulation.model.layout, chemistry_of(simulation).first
    first = first.reshape(2, layout.rows, layout.blocks, -1, layout.width)
    parts = [whole(simulation.model.mixing_ratios()), *(whole(layout.unpack(each)) for each in first)]
    parts += [
        simulation.model.budget.amounts,
        simulation.model.budget.imbalance,
        simulation.model.cell_counts.to_array(),
    ]
    return digest(*parts)


def run(case, ranks, *, most_steps=None):
    with airshed.Simulation(case, ranks=ranks) as simulation:
        if most_steps is not None:
            fewest_steps(simulation, most_steps)
        simulation.run()
        counts, balance = chemistry_of(simulation).counts, simulation.model.executor.balance
        home = counts.accepted + counts.rejected
        done, moved = home if balance is None else balance.record.own, moved_by(simulation)
        return {
            "bits": results(simulation), "retried": simulation.model.cell_counts.retried,
            "home": ranks.gather_all(home), "done": ranks.gather_all(int(done)), "moved": ranks.gather_all(moved),
            "note": next(t.note for t in simulation.summary().tables if t.title == "Wall time"),
        }  # fmt: skip


def failures(case, ranks):
    """Return each rank's message on a cell that fails, in the last of its columns, and how many failed on other
    ranks.
    """
    with airshed.Simulation(case, ranks=ranks) as simulation:
        simulation.run(until="10 min")
        simulation.model.stepper.state.q[-1, -1, :, 3, 2] = float("nan")
        before = moved_by(simulation)
        try:
            simulation.run(until="20 min")
        except ChemistryFailure as failure:
            return ranks.gather_all((str(failure).partition(" goes ")[0], moved_by(simulation) - before))
    return None


def moved_by(simulation):
    balance = simulation.model.executor.balance
    return 0 if balance is None else balance.record.moved


def main(cases):
    answers = {"runs": [], "retried": [], "failed": []}
    for size, tiles, balance, line in RUNS:
        ranks, stepping.message_costs = group(size), lambda _, line=line: line
        settings = [*HALF_DARK, f"parallel.tiles={tiles}", f"parallel.balance={balance}"]
        case = Case.load(cases / "aqm-benchmark", settings)
        if ranks is not None:
            answers["runs"].append(run(case, ranks))
            if balance != '"auto"' and size < 3:
                answers["retried"].append(run(case, ranks, most_steps=6))
            if balance != '"auto"' and size == 2:
                answers["failed"].append(failures(case, ranks))
        wait_for_all()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


main(Path(sys.argv[1]))
