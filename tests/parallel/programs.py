"""Small programs for several ranks, started by tests of the launcher as `python programs.py NAME ...`."""

import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from airshed.core.errors import CaseError, NumericalError, OutputError
from airshed.parallel.binding import bind
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.failure import failing_together
from airshed.parallel.launch import join

TRACERS: Final[dict[str, Any]] = {
    "grid": {"area": {"lon": [0, 4], "lat": [0, 4]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
    "time": {"start": "2022-01-01T00:00:00Z", "length": "1 h", "step": "600 s"},
    "meteorology": {"kind": "uniform"},
    "chemistry": {"mechanism": "tracer"},
    "deposition": {"scheme": "none"},
    "transport": {"diffusion": False},
    "emissions": {"point": [{"species": "TRACER", "lon": 0.1, "lat": 0.1, "rate": "1 mol/s"}]},
}


def explain(error: BaseException) -> tuple[str, int]:
    if isinstance(error, SystemExit):
        return "", int(error.code or 0)
    if isinstance(error, KeyboardInterrupt):
        return "stopped", 130
    return (f"error: {error}", 2) if isinstance(error, CaseError) else (f"defect: {error}", 1)


def hello(ranks: Communicator) -> None:
    """Print many lines of several words from all ranks simultaneously; each line must stay whole."""
    ranks.barrier()
    for number in range(100):
        print("rank", ranks.rank, "of", ranks.size, "prints", number)


def binding(ranks: Communicator) -> None:
    bind(ranks)
    cores = ranks.gather(sorted(os.sched_getaffinity(0)))
    if cores:
        print(cores)


def bytes_as_they_are(ranks: Communicator) -> None:
    if ranks.rank == 0:
        for piece in (b"\r 50%", b"\r100%\n", b"=" * 83, b"\n\n", bytes(range(128, 256)), b"\n", b"mpiexec", b" none"):
            os.write(1, piece)
            time.sleep(0.01)


def code_three(ranks: Communicator) -> None:
    sys.exit(3)


def all_raise(ranks: Communicator) -> None:
    raise CaseError("no such case")


def two_kinds(ranks: Communicator) -> None:
    raise CaseError("even" if ranks.rank % 2 == 0 else "odd")


def one_raises(ranks: Communicator) -> None:
    if ranks.rank == 1:
        raise CaseError("a field is missing")
    ranks.barrier()


def one_has_a_defect(ranks: Communicator) -> None:
    if ranks.rank == 0:
        raise ZeroDivisionError("nought")
    ranks.barrier()


def one_is_done(ranks: Communicator) -> None:
    if ranks.rank == 0:
        sys.exit(0)


def one_is_killed(ranks: Communicator) -> None:
    if ranks.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    ranks.barrier()


def steps(ranks: Communicator) -> None:
    """Run until Ctrl-C has reached every rank, and count how often it did."""
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    ranks.barrier()
    if ranks.rank == 0:
        print("stepping")
    for _ in range(3000):
        time.sleep(0.01)
        if all(ranks.gather_all(len(asked))):  # one rank receives it before another
            break
    time.sleep(0.1)  # time for a second signal
    heard = ranks.gather(len(asked))
    if heard is not None:
        print("heard", heard)
    ranks.barrier()
    sys.exit(130)


def many_runs(ranks: Communicator) -> None:
    """Make many runs in succession with few communicators left: MPI has some 2000."""
    from mpi4py import MPI

    from airshed.io.folder import RunFolder
    from airshed.models.air.case import Case
    from airshed.runtime.records import FolderUse, check_folder

    kept = [MPI.COMM_SELF.Dup() for _ in range(2000)]
    case, place = Case.from_dict(TRACERS), Path(ranks.broadcast(tempfile.mkdtemp()))
    for number in range(40):
        check_folder(case, FolderUse(place / str(number)), ranks)
        RunFolder(place / str(number), "", ranks=ranks).close()
    ranks.barrier()
    if ranks.rank == 0:
        shutil.rmtree(place)
        print(len(kept))


def many_groups(ranks: Communicator) -> None:
    """Make many runs on two groups with ten communicators left; every third is refused."""
    from mpi4py import MPI

    from airshed.models.air.case import Case
    from airshed.models.air.kind import only_transports, transport_for_others
    from airshed.parallel.groups import Groups
    from airshed.runtime.simulation import Simulation

    kept = [MPI.COMM_SELF.Dup() for _ in range(2036)]
    groups = {"parallel": {"groups": {"transport": 1, "chemistry": 2}}}
    strang = {"chemistry": TRACERS["chemistry"] | {"integrator": "strang"}}
    short = {"time": TRACERS["time"] | {"length": "600 s"}}
    case, place = Case.from_dict(TRACERS | strang | short | groups), Path(ranks.broadcast(tempfile.mkdtemp()))
    (place / "file").touch()
    for number in range(6):
        if only_transports(case, ranks):
            transport_for_others(case, ranks=ranks)
            continue
        with suppress(OutputError), Simulation(case, output=_place(place, number), ranks=ranks) as simulation:
            simulation.run()
    for number in range(12):
        each = Groups.of(ranks, 1 + number % 2, 2 - number % 2)
        assert each is not None
        each.close()
    ranks.barrier()
    if ranks.rank == 0:
        finished = len(list(place.glob("*/summary.txt")))
        shutil.rmtree(place)
        print(len(kept), finished)


def _place(folder: Path, number: int) -> Path:
    """Return a new folder, or a path below a file, which cannot be a folder."""
    return folder / "file" / str(number) if number % 3 == 2 else folder / str(number)


def asked_at_the_target(ranks: Communicator) -> None:
    """Stop one rank in the very step at which the run ends anyway."""
    from airshed.io.run_state import read_state
    from airshed.models.air.case import Case
    from airshed.runtime.clock import StepInfo
    from airshed.runtime.simulation import Simulation

    place = Path(ranks.broadcast(tempfile.mkdtemp()))
    with Simulation(Case.from_dict(TRACERS), output=place / "run", ranks=ranks) as simulation:

        def ask(info: StepInfo) -> None:
            if ranks.rank == 1 and info.time == 600.0:
                simulation.request_stop()

        simulation.run(until=600.0, observer=ask)
        ranks.barrier()
        state = read_state(place / "run")
        assert state is not None
        ends = ranks.gather(f"{state.state} at {simulation.seconds:g}")
    if ends is not None:
        print(ends)
        shutil.rmtree(place)


def one_looks(ranks: Communicator) -> None:
    """Observe every three steps on the first rank alone, which then stops; the others would take batches of eight
    steps.
    """
    from airshed.models.air.case import Case
    from airshed.runtime.clock import StepInfo
    from airshed.runtime.simulation import Simulation

    case = Case.from_dict(TRACERS | {"time": TRACERS["time"] | {"step": "60 s"}})
    with Simulation(case, ranks=ranks) as simulation:
        assert simulation.model.batch_limits.batch > 3
        seen: list[float] = []

        def look(info: StepInfo) -> None:
            seen.append(info.time)
            if info.time > 500.0:
                simulation.request_stop()

        simulation.run(observer=look if ranks.rank == 0 else None, stride=3)
        ends = ranks.gather(simulation.seconds)
    if ends is not None:
        print(seen, ends)


def not_finite(ranks: Communicator) -> None:
    """Spoil the state of one rank a step before a record is due, at the end of a batch."""
    from airshed.io.strategies.store import count_records
    from airshed.models.air.case import Case
    from airshed.runtime.clock import StepInfo
    from airshed.runtime.simulation import Simulation

    Simulation(Case.from_dict(TRACERS), ranks=ranks).run(1800.0)
    gc.collect()  # it was not closed, which MPI need not report
    place = Path(ranks.broadcast(tempfile.mkdtemp()))
    records = {"output": [{"every": "20 min"}], "restart": {"every": "10 min", "strategy": "gather"}}
    simulation = Simulation(Case.from_dict(TRACERS | records), output=place / "run", ranks=ranks)

    def lose(info: StepInfo) -> None:
        if ranks.rank == 1 and info.time == 1800.0:
            simulation.model.stepper.state.q[0, 0] = float("nan")

    try:
        simulation.run(observer=lose)
    except NumericalError as error:
        ends = ranks.gather(str(error).partition(" (")[0])
        if ends is not None:
            restarts = sorted(path.name for path in (place / "run" / "restart").iterdir())
            print(set(ends), count_records(place / "run" / "records" / "output"), restarts)
            shutil.rmtree(place)


def early(ranks: Communicator) -> None:
    """Interrupt one rank before it handles the signal; the others wait for it."""
    if ranks.rank == 1:
        raise KeyboardInterrupt
    ranks.barrier()


def stubborn(ranks: Communicator) -> None:
    """Ignore Ctrl-C, and wait for no rank."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    ranks.barrier()
    if ranks.rank == 0:
        print("waiting")
    time.sleep(20)


def numbered(ranks: Communicator) -> None:
    """Print the process number, and ignore Ctrl-C."""
    print(os.getpid())
    stubborn(ranks)


if __name__ == "__main__":
    gc.set_threshold(100_000, 20, 20)  # otherwise a sixth of the time is garbage collection
    join()
    ranks = world()
    with failing_together(ranks, explain):
        for name in sys.argv[1:]:
            globals()[name](ranks)
