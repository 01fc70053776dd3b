"""Run resistance deposition on 37 x 29 x 7 cells, on one rank and on two groups that share its species unevenly.

    mpiexec -n 5 python uneven.py FOLDER

Prints as JSON how many values differ from those of one rank, by the ranks that move and that react.
"""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from worlds import group, wait_for_all

import airshed

SPECIES = {"O3": "3O", "NO2": "N+2O", "HNO3": "H+N+3O", "SO2": "S+2O", "H2O2": "2H+2O"}
MAP = """
[boundary]
zero = []
{boundary}
[deposition]
none = []
{deposition}
"""


def write_mechanism(folder):
    """Write a mechanism of five gases that deposit and do not react."""
    atoms = "; ".join(f"{name} = {formula}" for name, formula in SPECIES.items())
    (folder / "five.def").write_text(f"#DEFVAR {atoms};\n#EQUATIONS\n", encoding="utf-8")
    boundary = "\n".join(f"{name} = {{ {name} = 1 }}" for name in SPECIES)
    deposition = "\n".join(f'{name} = "{name}"' for name in SPECIES)
    text = MAP.format(boundary=boundary, deposition=deposition)
    (folder / "five.species.toml").write_text(text, encoding="utf-8")
    return folder / "five.def"


def case(mechanism, transport, chemistry):
    return airshed.Case.from_dict(
        {
            "grid": {
                "area": {"lon": [0, 9.25], "lat": [47, 54.25]}, "spacing": "0.25 deg",
                "layers": ["20 m", "80 m", "200 m", "400 m", "800 m", "1600 m", "3200 m"],
            },
            "time": {"start": "2022-08-31T10:00:00Z", "length": "20 min", "step": "600 s"},
            "meteorology": {"kind": "uniform", "eastward": "3 m/s", "northward": "2 m/s", "diffusivity": "10 m2/s"},
            "chemistry": {"mechanism": str(mechanism), "integrator": "strang"},
            "boundary": {"profiles": "clean-air"},
            "deposition": {"scheme": "resistance"},
            "parallel": {"groups": {"transport": transport, "chemistry": chemistry}},
            "run": {"threads": 1},
        }
    )  # fmt: skip


def state(mechanism, transport, chemistry, ranks):
    """Return mixing ratios of the whole area; None on ranks that only move."""
    chosen = case(mechanism, transport, chemistry)
    if airshed.only_transports(chosen, ranks):
        airshed.transport_for_others(chosen, ranks=ranks)
        return None
    with airshed.Simulation(chosen, ranks=ranks) as simulation:
        simulation.run()
        return np.array(simulation.model.subdomain.whole(simulation.model.mixing_ratios()))


def main(folder):
    root = MPI.COMM_WORLD.rank == 0
    mechanism = MPI.COMM_WORLD.bcast(write_mechanism(folder) if root else None)
    states = {}
    for transport, chemistry in ((0, 0), ("same", 3), ("same", 5), (3, 2)):
        ranks = group(max(chemistry if transport == "same" else transport + chemistry, 1))
        if ranks is not None:
            states[f"{transport}, {chemistry}"] = state(mechanism, transport, chemistry, ranks)
        wait_for_all()
    if root:
        alone = states.pop("0, 0")
        print(json.dumps({name: int((each != alone).sum()) for name, each in states.items()}))


main(Path(sys.argv[1]))
