"""Run the small case on groups of ranks with devices, through the shim, in one MPI job of four.

    mpiexec -n 4 python -m mpi4py -m tests.laws.devices FOLDER VERTICAL

VERTICAL is a value of ``transport.vertical``. Saves the mixing ratios of each run to FOLDER, and prints a digest of its
state and budget. Ranks that a run does not need wait.
"""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from tests.laws.cases import small_case
from tests.laws.ranks import first_ranks, wait_for_all
from tests.laws.ways import digest

import airshed
from airshed.parallel.communicator import Communicator

COLUMNS = 44
"""Two packs of a device, of which the last one is not full, and not as many packs of the CPU as both have."""

RUNS = {  # devices of transport and chemistry: their ranks
    ("cpu", "cpu"): ((0, 0), (1, 1)),
    ("cpu", "cuda"): ((1, 1), (2, 2), ("same", 2)),
    ("cuda", "cpu"): ((1, 1), (2, 2)),
    ("cuda", "cuda"): ((1, 1), (1, 2)),
    ("other", "cpu"): ((0, 0),),
}


def case_of(folder: Path, vertical: str, devices: tuple[str, str], sizes: tuple[int | str, int]) -> airshed.Case:
    """Return the case on groups with devices; the first device "other" stands for a case without washout."""
    transport, chemistry = sizes
    names = dict(zip(("transport_device", "chemistry_device"), devices, strict=True)) if transport else {}
    further = {"wet_deposition": {"coefficients": {}}} if devices[0] == "other" else {}
    return small_case(
        folder, **further, chemistry={"integrator": "strang"}, transport={"vertical": vertical},
        grid={"area": {"lon": [-30.0, -30.0 + 0.5 * COLUMNS], "lat": [40.0, 43.0]}}, time={"length": "20 min"},
        parallel={"groups": {"transport": transport, "chemistry": chemistry, **names}},
    )  # fmt: skip


def run(case: airshed.Case, ranks: Communicator, file: Path) -> dict[str, str]:
    """Run a case, save its mixing ratios, and return digests; nothing on ranks that only transport."""
    if airshed.only_transports(case, ranks):
        airshed.transport_for_others(case, ranks=ranks)
        return {}
    with airshed.Simulation(case, ranks=ranks) as simulation:
        simulation.run()
        fields = {name: np.array(simulation.values(name)) for name in simulation.species}
        model = simulation.model
        budget = {"amounts": model.budget.amounts, "imbalance": model.budget.imbalance, "now": model.amounts()}
        if ranks.rank == 0:
            np.savez(file, **fields)
        return {"state": digest(fields), "budget": digest(budget)}


def main(folder: Path, vertical: str) -> None:
    """Run all cases, one after the other."""
    found = {}
    for devices, all_sizes in RUNS.items():
        for transport, chemistry in all_sizes:
            name = f"{' '.join(devices)} {transport}+{chemistry}"
            size = chemistry if transport == "same" else max(int(transport) + chemistry, 1)
            ranks = first_ranks(size)
            if ranks is not None:
                own = folder / f"files of rank {ranks.rank}"
                own.mkdir(exist_ok=True)
                case = case_of(own, vertical, devices, (transport, chemistry))
                found[name] = run(case, ranks, folder / f"{name}.npz")
            wait_for_all()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
