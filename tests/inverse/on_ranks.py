"""Gradients on several numbers of ranks, in sequence, in one MPI job of four ranks.

    mpiexec -n 4 python -m mpi4py -m tests.inverse.on_ranks FOLDER [CASES]

Prints JSON: hashes of the arrays of each gradient. The cases are a small one with both integrators, and one with wrong
halo edges in the backward pass. With CASES it adds more numbers of ranks and schemes, tests of derivatives, and a
coarse part of the west-europe case.
"""

import hashlib
import json
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr
from mpi4py import MPI
from tests.inverse.small import FASTER
from tests.laws.cases import small_case
from tests.laws.derivatives import TYPICAL, uneven_boundary
from tests.laws.ranks import first_ranks, wait_for_all

from airshed import inverse
from airshed.inverse.checkpoints.trajectory import storage_budget
from airshed.inverse.function.run_function import RunFunction
from airshed.inverse.receptors.receptor import Receptor, ReceptorCost
from airshed.inverse.reverse.direction import Direction
from airshed.models.air.case import Case
from airshed.parallel.communicator import SingleRank
from airshed.parallel.halo import EdgeExchange
from airshed.runtime import simulation
from airshed.runtime.simulation import Simulation

sys.modules["airshed.inverse.gradient"].storage_budget = lambda section, sizes: little_budget(section, sizes)

LENGTH = "2400 s" if len(sys.argv) > 2 else "1500 s"
SECTIONS = {
    "grid": {"area": {"lon": [-34, -20], "lat": [38, 44]}, "layers": ["100 m", "500 m", "2000 m"]},
    "time": {"start": "2022-06-21T11:00:00Z", "length": LENGTH, "step": "150 s"},
    "meteorology": {"eastward": "14 m/s", "northward": "-9 m/s", "rotation": "24 h", "diffusivity": "10 m2/s",
                    "daytime_diffusivity": "50 m2/s"},
}  # fmt: skip
AT = {"species": "HNO3", "lon": [-28, -25], "lat": [39, 42], "time": LENGTH}
REAL = (
    "grid.area.lon=[2, 10]", "grid.area.lat=[48, 52]", "grid.spacing=0.5 deg",
    'grid.layers=["50 m", "200 m", "1000 m", "3000 m"]', "time.length=20 min", "time.spinup=0 h",
)  # fmt: skip
AT_REAL = {"species": "O3", "lon": [5, 7], "lat": [49.2, 51.2], "time": "20 min"}
LITTLE = 'adjoint.memory="1 MiB"'
"""Setting that selects three restarts and four levels, so that steps are repeated on any tile of a rank."""

ONCE, AGAIN = 'adjoint.plan="auto"', 'adjoint.plan="two-level"'
"""Plans that run each step once, and that repeat each step from a restart."""
SHARED = 'adjoint={plan="all",store="mpiio",disk="1 GB"}'
GROUPS = 'adjoint={plan="all",store="zarr",disk="1 GB"}'
"""Plans that run each step once, with levels in one file of all ranks, and in Zarr groups."""
RUNS = (  # ranks, tiles, threads, storage
    (1, "auto", 1, ONCE), (1, "auto", 2, ONCE), (2, "[2, 1]", 2, ONCE),
    (2, "[1, 2]", 1, AGAIN), (2, "[1, 2]", 1, SHARED), (3, "[3, 1]", 1, GROUPS),
    (3, "[1, 3]", 1, LITTLE), (4, "[2, 2]", 1, LITTLE),
    (4, "[1, 4]", 1, ONCE),
)  # fmt: skip
RUNS_SHORT = (RUNS[0], (2, "[1, 2]", 2, ONCE), (4, "[2, 2]", 1, LITTLE))
RUNS_VERIFIED = RUNS[0], RUNS[2], RUNS[3], RUNS[7]
RUNS_IN_GROUPS = ((2, "[1, 2]", 1, ONCE),)
"""Groups of ranks for transport and chemistry; all ranks reverse all steps."""
GROUPS_OF_RANKS = "parallel.groups={transport=1,chemistry=1}"
SPLIT = "chemistry.integrator=strang", "parallel.balance=true"
APART, CONCURRENT = "transport.vertical=with chemistry", "chemistry.integrator=concurrent"
SYMMETRIC = "chemistry.integrator=symmetric"
RUNS_REAL = ((1, "auto", 1, ONCE), (2, "auto", 1, ONCE), (4, "[2, 2]", 1, ONCE))
NOTHING = {"top"}
"""Inputs without an effect: no air enters from above."""


def initial(case):
    """Return irregular mixing ratios, so that a misplaced value of a neighbour changes the result."""
    shape, numbers = case.make_grid().shape, np.random.default_rng(5)
    return xr.Dataset({name: (("level", "lat", "lon"), 10.0 ** numbers.uniform(-9, -7, shape)) for name in TYPICAL})


def given(case):
    return {"initial": initial(case)}


def with_field(case):
    """Return the same with boundary concentrations that differ by face cell and time."""
    return {**given(case), "boundary": uneven_boundary(case, (0.0, 500.0, 2400.0))}


def digest(*arrays):
    """Return a hash of the bits of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()[:16]


def hashes(found):
    """Return hashes of the parts of a gradient, by their names."""
    parts = {"value": np.array(found.value), "steps": np.array(found.steps)}
    adjoints = found.adjoints
    parts |= {name: getattr(adjoints, name) for name in ("initial", "boundary_profile", "top", "reactions")}
    parts |= {f"boundary at {seconds:g}": each for seconds, each in adjoints.boundary.items()}
    parts |= {f"sources {begin:g}": each for begin, each in adjoints.sources.items()}
    read = adjoints.read
    parts |= {f"number {name}": np.array(each) for name, each in read.numbers.items()}
    parts |= {f"relative {name}": each for name, each in read.relative.items()}
    parts |= {f"{name} at {s:g}": each for name, at in read.fields.items() for s, each in at.items()}
    assert {name for name, each in parts.items() if not np.any(each)} <= NOTHING
    return {name: digest(each) for name, each in parts.items()}


def little_budget(section, sizes):
    """Return the budget of a case, or the small one of LITTLE."""
    budget = storage_budget(section, sizes)
    return replace(budget, memory=3 * sizes.restart + 4 * sizes.level) if budget.memory == 2**20 else budget


def gradients(make, receptor, runs, given):
    """Return the hashes of gradients of a case on the first ranks, by configuration."""
    found = {}
    for size, tiles, threads, stored in runs:
        ranks = first_ranks(size)
        if ranks is None:
            continue
        case = make([f"parallel.tiles={tiles}", f"run.threads={threads}", stored])
        asked = Receptor.of(receptor, case.time.length.value)
        cost = lambda model: ReceptorCost(asked, model.whole)  # noqa: B023, E731
        answer = inverse.gradient(case, cost, ranks=ranks, **given(case))
        assert (answer.recomputed > 0) == (stored in (AGAIN, LITTLE)), answer.recomputed
        found[f"{size} {tiles} {threads} {stored}"] = hashes(answer)
    return found


def verified(make, runs):
    """Return both sides of dot products, Taylor remainders, and the hash of the tangent of the state."""
    found = {}
    for size, tiles, threads, _ in runs:
        ranks = first_ranks(size)
        if ranks is None:
            continue
        case = make([f"parallel.tiles={tiles}", f"run.threads={threads}"])
        asked = {"steps": 3, "ranks": ranks, **given(case)}
        dots = inverse.dot_product_test(case, **asked)
        taylor = inverse.taylor_test(case, kind="emission", **asked)
        shape = (len(TYPICAL), *case.make_grid().shape)
        along = Direction(initial=np.random.default_rng(3).uniform(-1e-9, 1e-9, shape))
        changed = inverse.tangent(case, along, **asked)
        found[f"{size} {tiles} {threads}"] = {
            "ok": [dots.ok, taylor.ok], "dots": [dict(dots.by_tangent), dict(dots.by_adjoint)],
            "taylor": [taylor.derivative, [list(vars(each).values()) for each in taylor.remainders]],
            "change": digest(changed.state, changed.change), "error": dots.worst,
        }  # fmt: skip
    return found


def fields_verified(make, runs):
    """Return the errors of dot products with a varying boundary, and hashes of budgets by face."""
    found = {}
    for size, tiles, threads, _ in runs:
        ranks = first_ranks(size)
        if ranks is None:
            continue
        case = make([f"parallel.tiles={tiles}", f"run.threads={threads}", "boundary.budget=faces"])
        dots = inverse.dot_product_test(case, steps=3, ranks=ranks, **with_field(case))
        with Simulation(case, ranks=ranks, **with_field(case)) as run:
            run.run(until="600 s")
            budget = run.budget()
        found[f"{size} {tiles} {threads}"] = {
            "error": dots.worst, "dots": [dict(dots.by_tangent), dict(dots.by_adjoint)],
            "budget": {str(name): digest(each.values) for name, each in budget.variables.items()},
        }  # fmt: skip
    return found


def functions(make, runs):
    """Return hashes of the fields of a run as a function of perturbed inputs, and of the adjoints of all inputs."""
    found = {}
    factors = {"all": {"species": ["NO"], "resolution": "cell"}}
    inputs = {"factors": factors, "initial": ["O3"], "boundary": ["O3"], "rates": FASTER}
    for size, tiles, threads, stored in runs:
        ranks = first_ranks(size)
        if ranks is None:
            continue
        case = make([f"parallel.tiles={tiles}", f"run.threads={threads}", stored])
        with closing(RunFunction(case, {"O3": [1200.0, 2400.0]}, inputs, ranks=ranks, **given(case))) as run:
            numbers = np.random.default_rng(7)
            changed = {key: own * numbers.uniform(0.5, 1.0, own.shape) for key, own in run.own.items()}
            fields = run(changed)
            adjoints = run.vjp(changed, {"O3": numbers.uniform(0.0, 1.0, run.shapes["O3"])})
        parts = {"O3": fields["O3"], **{" ".join(key): each for key, each in adjoints.items()}}
        assert all(np.any(each) for each in parts.values())
        found[f"{size} {tiles} {threads}"] = {name: digest(each) for name, each in parts.items()}
    return found


def with_wrong_edges(work):
    """Return the result of a function on two ranks, one of which receives wrong edges."""
    plain = EdgeExchange.__call__

    def halo_exchange(self, given, taken):
        plain(self, given, taken)
        for edge in taken.values():
            edge[...] = edge[::-1].copy()

    EdgeExchange.__call__ = halo_exchange if MPI.COMM_WORLD.rank == 0 else plain
    try:
        return work([(2, "[1, 2]", 1, ONCE)])
    finally:
        EdgeExchange.__call__ = plain


def sensitivities(case):
    """Return hashes of the Datasets on all ranks, and of the Dataset of a run on one rank."""

    def found():
        dataset = inverse.sensitivity(case, AT, **given(case))
        return digest(*(dataset[name].values for name in sorted(dataset.variables)))

    together = MPI.COMM_WORLD.gather(found())
    alone = None
    if MPI.COMM_WORLD.rank == 0:
        simulation.world = SingleRank
        alone = found()
    wait_for_all()
    return {"together": together, "alone": alone}


def all_of(small, split, cases):
    """Return the results for the thorough tests."""
    told = {"small": gradients(small, AT, RUNS, given)}
    told["spoilt, verified"] = with_wrong_edges(partial(verified, small))
    told["functions"] = functions(small, RUNS_VERIFIED)
    told["small, verified"] = verified(small, RUNS_VERIFIED)
    variants = {"split": (), "split in groups": (APART,), "concurrent": (CONCURRENT,), "symmetric": (SYMMETRIC,),
                "concurrent in groups": (APART, CONCURRENT)}  # fmt: skip
    for name, more in variants.items():
        make = lambda settings, more=more: split([*settings, *more])  # noqa: E731
        told[name] = gradients(make, AT, RUNS_SHORT, given)
        if name in ("split in groups", "concurrent"):
            told[f"{name}, verified"] = verified(make, RUNS_SHORT)
        in_groups = lambda settings, make=make: make([*settings, GROUPS_OF_RANKS])  # noqa: E731
        (told[name]["in groups"],) = gradients(in_groups, AT, RUNS_IN_GROUPS, given).values() or (None,)
    told["sensitivity"] = sensitivities(small(["run.threads=1"]))
    real = lambda settings: Case.load(cases / "west-europe", [*REAL, *settings])  # noqa: E731
    told["real"] = gradients(real, AT_REAL, RUNS_REAL, lambda case: {})
    return told


def main(folder, cases=None):
    (folder / str(MPI.COMM_WORLD.rank)).mkdir()
    data = small_case(folder / str(MPI.COMM_WORLD.rank), **SECTIONS).to_dict()

    def small(settings):
        return Case.from_dict(data, folder / str(MPI.COMM_WORLD.rank), settings).allowing_code()

    def split(settings):
        return small([*SPLIT, *settings])

    told = {} if cases is None else all_of(small, split, cases)
    if cases is None:
        told["small"], told["split"] = (gradients(make, AT, RUNS_SHORT, given) for make in (small, split))
        told["small, field"], told["split, field"] = (
            gradients(make, AT, RUNS_SHORT, with_field) for make in (small, split)
        )
        told["small, verified"], told["split, verified"] = (
            fields_verified(make, RUNS_SHORT) for make in (small, split)
        )
    told["spoilt"] = with_wrong_edges(lambda runs: gradients(small, AT, runs, given))
    wait_for_all()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(told))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
