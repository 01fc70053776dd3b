"""User scripts, as `mpiexec -n 2 python library.py FOLDER NAME ...`, with a failure on one of two ranks."""

import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import airshed
from airshed.core.errors import AirshedError

EXPLODING = "#DEFVAR\nA = IGNORE; B = IGNORE;\n#EQUATIONS\n<1> A = 2 A : 1e3;\n"
CASE: dict[str, Any] = {
    "grid": {"area": {"lon": [0, 8], "lat": [0, 4]}, "spacing": "1 deg", "layers": ["500 m", "1000 m"]},
    "time": {"start": "2022-01-01T00:00:00Z", "length": "1 h", "step": "600 s"},
    "meteorology": {"kind": "uniform"},
    "chemistry": {"mechanism": "exploding.eqn", "integrator": "strang"},
    "deposition": {"scheme": "none"},
    "emissions": {"point": [{"species": "A", "lon": 3.5, "lat": 3.5, "rate": "1000 mol/s"}]},
}
"""Emission of the unstable species is in the north, which the second rank holds."""

_MANY = 4000


def case(folder: Path, **sections: dict[str, Any]) -> airshed.Case:
    return airshed.Case.from_dict({**CASE, **sections}, base=folder)


def caught(folder: Path) -> None:
    """Catch a failure of the chemistry on one rank; this rank must not continue alone."""
    try:
        with airshed.Simulation(case(folder), output=folder / "run") as simulation:
            simulation.run()
    except AirshedError:
        print("caught")


def by_steps(folder: Path) -> None:
    simulation = airshed.Simulation(case(folder))
    try:
        while True:
            simulation.step()
    except AirshedError:
        print("caught")


def at_the_start(folder: Path) -> None:
    """Name a case that does not exist on the second rank."""
    from airshed.parallel.communicator import world

    try:
        airshed.Simulation(folder / "nosuch.toml" if world().rank else case(folder))
    except AirshedError:
        print("caught")


def observer(folder: Path) -> None:
    """Raise a defect of the user's code on the first rank alone."""

    def look(info: object) -> None:
        if simulation.model.subdomain.is_root:
            raise ZeroDivisionError("nought")

    simulation = airshed.Simulation(case(folder, emissions={}))
    try:
        simulation.run(observer=look)
    except ZeroDivisionError:
        print("caught")


def everywhere(folder: Path) -> None:
    """Catch an error that all ranks raise: the scripts continue, and create another simulation."""
    told = ""
    try:
        airshed.Simulation(case(folder, chemistry={"mechanism": "nosuch", "integrator": "strang"}))
    except AirshedError as error:
        told = str(error).partition(" (")[0]
    with airshed.Simulation(case(folder, emissions={})) as simulation:
        simulation.run()
        if simulation.model.subdomain.is_root:
            print(f"{told}, but {simulation.time}")


def forgotten(folder: Path) -> None:
    """Check that sums whose wait was interrupted do not change later arrays."""
    from airshed.parallel.communicator import MpiRanks, world

    ranks = world()
    assert isinstance(ranks, MpiRanks)
    if ranks.rank:
        ranks.handle.recv(source=0)  # so that those of the first rank are pending for a while
        ranks.total(np.ones(_MANY, np.int64))
    else:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with suppress(KeyboardInterrupt):
            ranks.total(np.ones(_MANY, np.int64))
            print("not interrupted")
    arrays = [np.full(_MANY, 7) for _ in range(8)]
    if not ranks.rank:
        ranks.handle.send(None, 1)
    for _ in range(20):
        ranks.total(np.ones(1, np.int64))
    spoiled = int(ranks.total(np.array([np.count_nonzero(np.array(arrays) != 7)]))[0])
    if not ranks.rank:
        print(spoiled)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        globals()[name](Path(sys.argv[1]))
