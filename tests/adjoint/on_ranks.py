"""Gradients on several numbers of ranks, one after the other, in one MPI job of four.

    mpiexec -n 4 python on_ranks.py FOLDER [CASES]

Prints as JSON hashes of all that each gradient holds: of a small case, also by Strang splitting, of one whose edges are
spoilt on the way back, and with CASES of a coarse cut of the real one; and of the Dataset that each rank gets of
`sensitivity`.
"""

import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[1] / "parallel"))
from worlds import digest, group, wait_for_all

from airshed import adjoint
from airshed.adjoint import choice
from airshed.adjoint.direction import Direction
from airshed.adjoint.receptor import Receptor, ReceptorCost
from airshed.adjoint.run_function import RunFunction
from airshed.air.case import Case
from airshed.parallel.communicator import Alone
from airshed.parallel.swap import EdgeSwap
from airshed.runtime import simulation

sys.modules["airshed.adjoint.gradient"].room_of = lambda section, sizes: little_room(section, sizes)

REACTIONS = """#DEFVAR
A = IGNORE; B = IGNORE;
#EQUATIONS
<1> A = B : 1e-3;
<2> B = A : 4e-4*SUN;
<3> B + B = A + A : 1e-14;
"""
SMALL = {
    "grid": {"area": {"lon": [-7, 7], "lat": [40, 46]}, "spacing": "0.5 deg", "layers": ["100 m", "500 m", "2000 m"]},
    "time": {"start": "2022-06-21T11:00:00Z", "length": "2400 s", "step": "150 s"},
    "meteorology": {"kind": "uniform", "eastward": "14 m/s", "northward": "-9 m/s", "rotation": "24 h",
                    "diffusivity": "10 m2/s", "daily_mixing": "50 m2/s"},
    "chemistry": {"mechanism": "small.eqn"},
    "deposition": {"velocities": {"B": "1 cm/s"}, "scheme": "none"},
    "horizontal_diffusion": {"diffusivity": "2000 m2/s"},
    "settling": {"diameters": {"B": "20 um"}},
    "process": [{"file": "sea_surface.py", "velocities": {"A": "1 cm/s"}}],
    "boundary": {"values": {"A": "10 ppb"}},
    "emissions": {"point": [{"species": "A", "rate": "10 mol/s", "lon": 0.2, "lat": 43.2}]},
}  # fmt: skip
SEA = Path(__file__).parents[1] / "air" / "processes" / "users" / "sea_surface.py"
AT = {"species": "B", "lon": [-1, 2], "lat": [41, 44], "time": "2400 s"}
REAL = (
    "grid.area.lon=[2, 10]", "grid.area.lat=[48, 52]", "grid.spacing=0.5 deg",
    'grid.layers=["50 m", "200 m", "1000 m", "3000 m"]', "time.length=20 min", "time.spinup=0 h",
)  # fmt: skip
AT_REAL = {"species": "O3", "lon": [5, 7], "lat": [49.2, 51.2], "time": "20 min"}
LITTLE = 'adjoint.memory="1 MiB"'
"""Stands for three restarts and four levels, so that steps are made again, whatever a rank's tile and its packs."""

ONCE, AGAIN = 'adjoint.plan="auto"', 'adjoint.plan="multistage"'
"""Each step is made once; and all are made again, as their number is to be known before."""
SHARED = 'adjoint={plan="all",store="mpiio:async",disk="1 GB"}'
GROUPS = 'adjoint={plan="all",store="zarr",disk="1 GB"}'
"""Each step is made once, and levels are in one file of all ranks, and in Zarr groups."""
RUNS = (  # ranks, their tiles, threads, what is kept, how steps forward get their neighbours' edges
    (1, "auto", 1, ONCE, "auto"), (1, "auto", 2, ONCE, "auto"), (2, "[2, 1]", 2, ONCE, "auto"),
    (2, "[1, 2]", 1, AGAIN, "messages"), (2, "[1, 2]", 1, SHARED, "auto"), (3, "[3, 1]", 1, GROUPS, "auto"),
    (3, "[1, 3]", 1, LITTLE, "auto"), (4, "[2, 2]", 1, LITTLE, "messages"),
    (4, "[1, 4]", 1, ONCE, "auto"),
)  # fmt: skip
RUNS_VERIFIED = RUNS[0], RUNS[2], RUNS[3], RUNS[7]
RUNS_SPLIT = ((1, "auto", 1, ONCE, "auto"), (2, "[1, 2]", 2, ONCE, "auto"), (4, "[2, 2]", 1, LITTLE, "messages"))
RUNS_IN_GROUPS = (  # of ranks that move species, and of others; all ranks take all steps back
    (2, "[1, 2]", 1, ONCE, "auto"),
)
GROUPS_OF_RANKS = "parallel.groups={transport=1,chemistry=1}"
SPLIT = "chemistry.integrator=strang", "parallel.balance=true"
RUNS_REAL = ((1, "auto", 1, ONCE, "auto"), (2, "auto", 1, ONCE, "auto"), (4, "[2, 2]", 1, ONCE, "messages"))


def initial(case):
    """Mixing ratios so irregular that a neighbour's value in the wrong place is another value."""
    shape, numbers = case.make_grid().shape, np.random.default_rng(5)
    return xr.Dataset({name: (("level", "lat", "lon"), 10.0 ** numbers.uniform(-9, -7, shape)) for name in "AB"})


NOTHING = {"top"}


def given(case):
    return {"initial": initial(case), "allow_code": True}


def hashes(found):
    """Hashes of the parts of a gradient, by their names."""
    parts = {"value": np.array(found.value), "steps": np.array(found.steps)}
    adjoints = found.adjoints
    parts |= {name: getattr(adjoints, name) for name in ("initial", "outside", "top", "reactions")}
    parts |= {f"sources {begin:g}": each for begin, each in adjoints.sources.items()}
    read = adjoints.read
    parts |= {f"number {name}": np.array(each) for name, each in read.numbers.items()}
    parts |= {f"relative {name}": each for name, each in read.relative.items()}
    parts |= {f"{name} at {s:g}": each for name, at in read.fields.items() for s, each in at.items()}
    assert all(np.any(each) for name, each in parts.items() if name not in NOTHING)
    return {name: digest(each) for name, each in parts.items()}


def little_room(section, sizes):
    """The room of a case, far less where it is little; see LITTLE."""
    room = choice.room_of(section, sizes)
    return replace(room, memory=3 * sizes.restart + 4 * sizes.level) if room.memory == 2**20 else room


def gradients(make, receptor, runs, given):
    """Return the hashes of gradients of a case on the first ranks, by what they ran on."""
    found = {}
    for size, tiles, threads, kept, halo in runs:
        ranks = group(size)
        if ranks is not None:
            case = make([f"parallel.tiles={tiles}", f"run.threads={threads}", f"parallel.halo={halo}", kept])
            asked = Receptor.of(receptor, case.time.length.value)
            cost = lambda model: ReceptorCost(asked, model.whole)  # noqa: B023, E731
            answer = adjoint.gradient(case, cost, ranks=ranks, **given(case))
            assert (answer.recomputed > 0) == (kept in (AGAIN, LITTLE)), answer.recomputed
            found[f"{size} {tiles} {threads} {kept}"] = hashes(answer)
        wait_for_all()
    return found


def verified(make, runs):
    """Return both sides of dot products, the remainders of a Taylor test, and the hash of changes of the state."""
    found = {}
    for size, tiles, threads, _, _ in runs:
        ranks = group(size)
        if ranks is not None:
            case = make([f"parallel.tiles={tiles}", f"run.threads={threads}"])
            asked = {"steps": 3, "ranks": ranks, **given(case)}
            dots = adjoint.dot_product_test(case, **asked)
            taylor = adjoint.taylor_test(case, kind="emission", **asked)
            shape = (2, *case.make_grid().shape)
            along = Direction(initial=np.random.default_rng(3).uniform(-1e-9, 1e-9, shape))
            changed = adjoint.tangent(case, along, **asked)
            found[f"{size} {tiles} {threads}"] = {
                "ok": [dots.ok, taylor.ok], "dots": [dict(dots.by_tangent), dict(dots.by_adjoint)],
                "taylor": [taylor.derivative, [list(vars(each).values()) for each in taylor.remainders]],
                "change": digest(changed.state, changed.change), "error": dots.worst,
            }  # fmt: skip
        wait_for_all()
    return found


def functions(make, runs):
    """Return hashes of the fields of a run as a function of changed inputs, and of the adjoints of all inputs."""
    found = {}
    for size, tiles, threads, kept, _ in runs:
        ranks = group(size)
        if ranks is not None:
            case = make([f"parallel.tiles={tiles}", f"run.threads={threads}", kept])
            inputs = {
                "factors": {"all": {"species": ["A"], "per": "cell"}},
                "initial": ["A"],
                "boundary": ["A"],
                "rates": ["1"],
            }
            with closing(RunFunction(case, {"B": [1200.0, 2400.0]}, inputs, ranks=ranks, **given(case))) as run:
                numbers = np.random.default_rng(7)
                changed = {key: own * numbers.uniform(0.5, 1.0, own.shape) for key, own in run.own.items()}
                fields = run(changed)
                adjoints = run.vjp(changed, {"B": numbers.uniform(0.0, 1.0, run.shapes["B"])})
            parts = {"B": fields["B"], **{" ".join(key): each for key, each in adjoints.items()}}
            assert all(np.any(each) for each in parts.values())
            found[f"{size} {tiles} {threads}"] = {name: digest(each) for name, each in parts.items()}
        wait_for_all()
    return found


def spoilt(make):
    """A gradient on two ranks, and what verifies it, where one gets edges that are not its neighbour's."""
    plain = EdgeSwap.__call__

    def swap(self, given, taken):
        plain(self, given, taken)
        for edge in taken.values():
            edge[...] = edge[::-1].copy()

    EdgeSwap.__call__ = swap if MPI.COMM_WORLD.rank == 0 else plain
    one = [(2, "[1, 2]", 1, ONCE, "auto")]
    try:
        return gradients(make, AT, one, given), verified(make, one)
    finally:
        EdgeSwap.__call__ = plain


def sensitivities(case):
    """Hashes of the Datasets on all ranks, and of that which the first rank gets alone."""

    def found():
        dataset = adjoint.sensitivity(case, AT, **given(case))
        return digest(*(dataset[name].values for name in sorted(dataset.variables)))

    together = MPI.COMM_WORLD.gather(found())
    alone = None
    if MPI.COMM_WORLD.rank == 0:
        simulation.world = Alone
        alone = found()
    wait_for_all()
    return {"together": together, "alone": alone}


def main(folder, cases=None):
    if MPI.COMM_WORLD.rank == 0:
        (folder / "small.eqn").write_text(REACTIONS)
        (folder / SEA.name).write_text(SEA.read_text())
    wait_for_all()

    def small(settings):
        return Case.from_dict(SMALL, folder, settings)

    def split(settings):
        return small([*settings, *SPLIT])

    def split_apart(settings):
        return split([*settings, "transport.vertical=with chemistry"])

    def concurrent(settings):
        return split([*settings, "chemistry.concurrent=true"])

    def concurrent_apart(settings):
        return split_apart([*settings, "chemistry.concurrent=true"])

    told = {"small": gradients(small, AT, RUNS, given)}
    told["spoilt"], told["spoilt, verified"] = spoilt(small)
    told["functions"] = functions(small, RUNS_VERIFIED)
    told["small, verified"] = verified(small, RUNS_VERIFIED)
    makers = {
        "split": split,
        "split apart": split_apart,
        "concurrent": concurrent,
        "concurrent apart": concurrent_apart,
    }
    for name, make in makers.items():
        told[name] = gradients(make, AT, RUNS_SPLIT, given)
        in_groups = lambda settings: make([*settings, GROUPS_OF_RANKS])  # noqa: B023, E731
        if name in ("split apart", "concurrent"):
            told[f"{name}, verified"] = verified(make, RUNS_SPLIT)
        (told[name]["in groups"],) = gradients(in_groups, AT, RUNS_IN_GROUPS, given).values() or (None,)
    told["sensitivity"] = sensitivities(small(["run.threads=1"]))
    if cases is not None:
        told["real"] = gradients(
            lambda settings: Case.load(cases / "west-europe", [*REAL, *settings]), AT_REAL, RUNS_REAL, lambda case: {}
        )
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(told))


main(*map(Path, sys.argv[1:]))
