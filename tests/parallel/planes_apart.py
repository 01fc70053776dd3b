"""Run cases whose TRANS is distributed by species and level, in one MPI job of six, and on one rank.

    mpiexec -n 6 python planes_apart.py CASES FOLDER

Prints the results as JSON, as ``two_phases.py`` does. Unused ranks wait.
"""

import json
import sys
from pathlib import Path

from mpi4py import MPI
from worlds import bits, group, residual, run_in_groups, wait_for_all

from airshed.models.air.case import Case
from airshed.verify import west_europe

APART = "with chemistry"
CUT = (
    "grid.area.lon=[4, 7.25]", "grid.area.lat=[50.5, 52]", "time.length=10 min", "time.spinup=0 h",
    "output.0.every=10 min", "output.0.fields=[\"O3\", \"NO2\", \"OH\"]",
    "chemistry.integrator=strang", "run.threads=1", f"transport.vertical={APART}",
)  # fmt: skip
RUNS = {  # name: ranks with transport, ranks with chemistry, further settings
    "emep, alone": (0, 0, ()),
    "emep, 3 ranks": (0, 3, ()),
    "emep, 4+1": (4, 1, ("parallel.groups.strategy=funnel",)),
    "concurrent, alone": (0, 0, ("chemistry.integrator=concurrent",)),
    "concurrent, 1+1": (1, 1, ("chemistry.integrator=concurrent", "run.threads=2")),
}
TRACERS = {"tracers, alone": (0, 0), "tracers, both on 5": ("same", 5)}


def tracers(transport, chemistry):
    """Return a case of two species in eighteen levels with real winds, emission and deposition."""
    velocities = {"TRACER": "0.3 cm/s", "TRACER2": "1 cm/s"}
    return west_europe.real_case(
        "40 min", chemistry={"integrator": "strang"}, transport={"vertical": APART},
        grid={"area": {"lon": [4.0, 8.0], "lat": [49.0, 53.0]}}, time={"step": "10 min"},
        emissions={"point": [{"species": "TRACER2", "lon": 6.7, "lat": 51.4, "height": "100 m", "rate": "2 mol/s"}]},
        deposition={"scheme": "constant", "velocities": velocities}, restart={"every": "20 min"},
        parallel={"groups": {"transport": transport, "chemistry": chemistry}},
    )  # fmt: skip


def emep(cases, transport, chemistry, settings):
    groups = 0 if transport == 0 else chemistry
    chosen = [f"parallel.groups.transport={transport}", f"parallel.groups.chemistry={groups}"]
    return Case.load(cases / "west-europe", [*CUT, *chosen, *settings])


def found(simulation):
    return {**bits(simulation), "residual": residual(simulation)}


def main(cases, folder):
    answers = {}

    def on_ranks(name, transport, chemistry, case, **how):
        ranks = group(chemistry if transport in ("same", 0) and chemistry else max(transport + chemistry, 1))
        if ranks is not None:
            answers[name] = run_in_groups(case, folder / name, ranks, found, **how)
        wait_for_all()

    for name, (transport, chemistry, settings) in RUNS.items():
        on_ranks(name, transport, chemistry, emep(cases, transport, chemistry, settings))
    for name, sizes in TRACERS.items():
        on_ranks(name, *sizes, tracers(*sizes))
    resumed = "tracers, 3+1, then 4+2"
    on_ranks(resumed, 3, 1, tracers(3, 1), until="20 min")
    on_ranks(resumed, 4, 2, tracers(4, 2), resume=True)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


main(Path(sys.argv[1]), Path(sys.argv[2]))
