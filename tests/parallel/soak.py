"""Soak test of random runs on ranks: grids, tiles, threads, output strategies, and a restart on other ranks.

    mpiexec -n 6 python soak.py FOLDER SEED COUNT

Each run is made by one rank without interruption, and by several ranks that stop at a random step. Other ranks then
resume it. Prints the trials as JSON, with all deviations from one rank.
"""

import hashlib
import json
import random
import sys
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr
from mpi4py import MPI
from worlds import digest, group, wait_for_all

import airshed
from airshed.core.errors import CaseError
from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.parallel.communicator import SingleRank
from airshed.parallel.decomposition import Decomposition

REACTIONS = """#DEFVAR
A = IGNORE; B = IGNORE;
#EQUATIONS
<1> A = B : 1e-3;
<2> B = A : 4e-4*SUN;
<3> B + B = A + A : 1e-14;
"""
LENGTH, EVERY = 2400, 600  # s
COMPRESSING, OTHERS = ("gather", "files", "zarr"), ("mpiio",)


def settings(dice, integrator):
    """Return a random case of a few minutes, with transport across every border of tiles."""
    columns, rows = dice.randint(2, 40), dice.randint(4, 12)
    west, south = dice.uniform(-20, 0), dice.uniform(-60, 50)
    wind = [f"{dice.uniform(-25, 25):.3f} m/s" for _ in range(2)]
    place = {"lon": west + dice.uniform(0.1, 0.9) * 0.5 * columns, "lat": south + dice.uniform(0.1, 0.9) * 0.5 * rows}
    return {
        "grid": {"area": {"lon": [west, west + 0.5 * columns], "lat": [south, south + 0.5 * rows]},
                 "spacing": "0.5 deg", "layers": ["100 m", "500 m", "2000 m"]},
        "time": {"start": "2022-06-21T11:00:00Z", "length": f"{LENGTH} s", "step": dice.choice(["auto", "150 s"]),
                 "courant": dice.uniform(0.1, 0.4)},
        "meteorology": {"kind": "uniform", "eastward": wind[0], "northward": wind[1], "rotation": "24 h",
                        "diffusivity": "10 m2/s", "daytime_diffusivity": "50 m2/s"},
        "chemistry": {"mechanism": "soak.eqn", "integrator": integrator},
        "deposition": {"velocities": {"B": "1 cm/s"}, "scheme": "none"},
        "boundary": {"values": {"A": "10 ppb"}},
        "emissions": {"point": [{"species": "A", "rate": "10 mol/s", **place}]},
    }  # fmt: skip


def machine(dice, case, strategy):
    """Return random ranks, tiles, threads and output strategies, which must not change a result."""
    _, rows, columns = case.make_grid().shape
    cuts = [cut for cut in product(range(1, 7), repeat=2) if 2 <= cut[0] * cut[1] <= 6 and fits(rows, columns, cut)]
    down, across = dice.choice(cuts)
    return down * across, {
        "run": {"threads": dice.randint(1, 2)},
        "parallel": {"tiles": [down, across], "balance": dice.choice([True, False])},
        "output": [{**strategy, "every": f"{EVERY} s"}],
        "restart": {"every": f"{EVERY} s", "strategy": way(dice, (*COMPRESSING, *OTHERS))},
    }


def fits(rows, columns, cut):
    try:
        return bool(Decomposition.of(rows, columns, WIDTH, cut[0] * cut[1], tiles=cut))
    except CaseError:
        return False


def way(dice, names):
    return f"{dice.choice(names)}:{dice.choice(['sync', 'async'])}"


def initial(case, seed):
    shape, numbers = case.make_grid().shape, np.random.default_rng(seed)
    # irregular, so that a misplaced neighbour changes the result, and with an uneven load
    fields = {name: (("level", "lat", "lon"), 10.0 ** numbers.uniform(-12, -7, shape)) for name in ("A", "B")}
    return xr.Dataset(fields)


def run(folder, case, state, ranks, *, stop=None, resume=False):
    """Return all results except wall times; None of a run that the last rank stops after some steps."""
    with airshed.Simulation(case, initial=state, output=folder, resume=resume, ranks=ranks) as simulation:

        def look(info):
            if info.step == stop and ranks.rank == ranks.size - 1:
                simulation.request_stop()

        simulation.run(observer=look)
        if simulation.seconds < simulation.end:
            return None
        model, report = simulation.model, simulation.summary()
        tables = {table.title: table.rows for table in report.tables if table.title != "Wall time"}
        facts = {name: fact for name, fact in report.facts.items() if name not in ("chemistry of cells", "notice")}
        found = {
            "state": digest(model.subdomain.whole(model.mixing_ratios())),
            "budget": digest(model.budget.amounts, model.budget.imbalance, model.amounts()),
            "summary": hashlib.sha256(repr((tables, facts, model.cell_counts)).encode()).hexdigest()[:16],
        }
    if ranks.rank == 0:
        with airshed.open_run(folder) as results:
            found["output"] = digest(*(results[name].values for name in sorted(results.variables)))
    return found


def trial(folder, dice, seed):
    """Return a description of a trial, and its deviations from the run on one rank."""
    given = settings(dice, dice.choice(["imex", "strang"]))
    compression = dice.choice(["none", "zlib"])
    name = way(dice, COMPRESSING if compression == "zlib" else (*COMPRESSING, *OTHERS))
    writing = [{"strategy": strategy, "compression": compression} for strategy in (name, dice.choice([name, "auto"]))]
    case = airshed.Case.from_dict(given, base=folder)
    machines, stop = [machine(dice, case, each) for each in writing], dice.randint(1, 6)
    state, found, alone = initial(case, seed), None, None
    for (size, more), last in zip(machines, (stop, None), strict=True):
        ranks = group(size)
        if ranks is not None:
            parts = airshed.Case.from_dict({**given, **more}, base=folder)
            found = run(folder / f"{seed}", parts, state, ranks, stop=last, resume=last is None)
        wait_for_all()
    if MPI.COMM_WORLD.rank == 0:
        more = {"run": {"threads": 1}, "output": [{"every": f"{EVERY} s", "compression": compression}]}
        alone = run(
            folder / f"{seed}-alone", airshed.Case.from_dict({**given, **more}, base=folder), state, SingleRank()
        )
    wait_for_all()
    made = f"{given['chemistry']['integrator']}, {case.make_grid().shape}, stopped after {stop} steps"
    told = f"seed {seed}: {made}, {writing}, {machines}"
    return told, [name for name in alone or {} if found is None or found[name] != alone[name]]


def main(folder, seed, count):
    if MPI.COMM_WORLD.rank == 0:
        (folder / "soak.eqn").write_text(REACTIONS)
    wait_for_all()
    answers = [trial(folder, random.Random(each), each) for each in range(seed, seed + count)]
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
