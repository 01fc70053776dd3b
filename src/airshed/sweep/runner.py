"""Execution of a sweep, on threads that each start a process, or on the workers of a Dask scheduler.

Both are executors of concurrent.futures, with the same submission and collection of members.

SWEEP/sweep.json      the settings and dimensions of the sweep
SWEEP/members.csv     the settings, state and message of each member
SWEEP/members/NNNN    the run folder of a member, and NNNN.log its messages
SWEEP/sweep.zarr      the results of all members
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from airshed.core.atomic import guarded
from airshed.core.errors import AirshedError, CaseError, OutputError
from airshed.io.folder import RunFolder
from airshed.io.run_state import SWEEP_DATASET, SWEEP_MEMBERS, SWEEP_PLAN, FinishedRunError
from airshed.kernels.host import usable_cores
from airshed.runtime.records import FolderUse, check_folder
from airshed.sweep.dataset import gather
from airshed.sweep.member import Outcome, Task, run_member
from airshed.sweep.plan import TABLE, Member, Plan, check_same

_SCHEDULER_TIMEOUT: Final = 30.0
"""Seconds to wait for a scheduler."""


@contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """Yield an executor that runs functions on the workers of a Dask scheduler, and a count of their threads.

    Raises AirshedError without the package `distributed`, and where there is no scheduler at the address.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise AirshedError(
            "--scheduler needs the package distributed: pip install 'airshed[dask]', on the workers too"
        ) from error
    try:
        client = Client(address, timeout=_SCHEDULER_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise AirshedError(
            f"there is no Dask scheduler at {address} ({' '.join(str(error).split())}); give the address that it "
            "prints when it starts, such as tcp://10.0.0.1:8786"
        ) from error

    def threads() -> int:
        try:
            return sum(client.nthreads().values())
        except Exception:  # a lost scheduler leads to many kinds of errors
            return 0

    with client:
        yield client.get_executor(pure=False, retries=0), threads


_STOP: Final = ".stop"
"""File that stops all members when it appears, also on other machines."""

_TIMEOUT: Final = 60.0
"""Seconds to wait for the members of a killed sweep, which end within a few steps."""

_POLL: Final = 0.2
"""Seconds between two progress reports."""

_TABLE_INTERVAL: Final = 10.0
"""Seconds between two versions of the table of members, which may be long, during the sweep."""


@dataclass(frozen=True)
class SweepOptions:
    """Execution options of a sweep; they do not change results.

    jobs       members at once; 0 for one per core, or one per Dask thread
    threads    threads of each member; 0 divides the cores among the members; on Dask 0 means one
    scheduler  address of a Dask scheduler; None runs members on this machine
    retries    number of retries of a failed member
    """

    jobs: int = 0
    threads: int = 0
    scheduler: str | None = None
    retries: int = 1
    resume: bool = False
    force: bool = False
    accept_changed_inputs: bool = False


@dataclass
class Progress:
    """Progress of a sweep.

    total, done, failed, running  numbers of members; done includes those of an earlier sweep
    seconds_left                  estimate of the remaining time [s], None before the first member is done
    """

    total: int
    done: int = 0
    failed: int = 0
    running: int = 0
    seconds_left: float | None = None


@dataclass
class Sweep:
    """A sweep in a folder; :meth:`run` runs it.

    on_progress  callback for each change of the progress
    on_failure   callback for each failed member, with its message and whether it is retried
    """

    plan: Plan
    folder: Path
    options: SweepOptions = field(default_factory=SweepOptions)
    on_progress: Callable[[Progress], None] = lambda progress: None
    on_failure: Callable[[Member, str, bool], None] = lambda member, message, again: None

    def __post_init__(self) -> None:
        self.folder = self.folder.absolute()
        self._stop = self.folder / _STOP
        self._states: dict[int, tuple[str, str]] = {}
        self._table_written, self._is_stopping = 0.0, False
        self.progress = Progress(len(self.plan.members))

    @property
    def dataset(self) -> Path:
        """Path of the dataset of all members."""
        return self.folder / SWEEP_DATASET

    @property
    def failures(self) -> list[tuple[Member, str]]:
        """Members that failed, with their messages."""
        states = [(member, self._states.get(member.number, ("", ""))) for member in self.plan.members]
        return [(member, message) for member, (state, message) in states if state == "failed"]

    def request_stop(self) -> None:
        """Stop all members within some steps; a resumed sweep continues them. Callable from a signal handler."""
        self._is_stopping = True
        with suppress(OSError):  # the folder does not exist yet
            self._stop.touch()

    def run(self) -> bool:
        """Run all members that are not finished, and gather the results; return False where the sweep was stopped.

        Raises AirshedError, before anything runs, for invalid settings and for an unusable folder.
        """
        _ = self.plan.cases
        earlier = self._check_folder()
        with self._locked(), self._executor() as (executor, slots):
            finished = self._finished() if earlier else set()
            self._states = dict.fromkeys(finished, ("finished", ""))
            self.progress.done = len(finished)
            left = [member for member in self.plan.members if member.number not in finished]
            if left:
                self._try_first(executor, left)
                self.plan.write(self.folder)
                self.plan.write_table(self.folder, self._states)
                shutil.rmtree(self.dataset, ignore_errors=True)
                self._run_all(executor, left, slots)
            self.plan.write_table(self.folder, self._states)
            if self._is_stopping and self.progress.done < self.progress.total:
                return False
            if left or not self.dataset.exists():
                gather(self.plan, self.folder, {member.number: text for member, text in self.failures})
            return True

    def _check_folder(self) -> bool:
        """Return whether the folder holds an earlier sweep that is resumed; raises OutputError where it is in use."""
        if self.options.force and (self.folder / SWEEP_PLAN).exists():
            return False
        earlier = check_same(self.folder, self.plan)
        if earlier and not self.options.resume:
            raise OutputError(f"{self.folder} holds a sweep; continue it with --resume, or give --force to replace it")
        if not earlier and self.folder.is_dir() and any(self.folder.iterdir()):
            raise OutputError(f"{self.folder} holds other files and is no sweep; choose a new or empty folder")
        return earlier

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder against other sweeps; with --force remove the earlier one."""
        made = not self.folder.exists()
        with guarded(self.folder):
            (self.folder / SWEEP_MEMBERS).mkdir(parents=True, exist_ok=True)
        try:
            with RunFolder.locked(self.folder):
                self._wait_for_members()
                self._stop.unlink(missing_ok=True)
                if self._is_stopping:
                    self.request_stop()
                if self.options.force:
                    with guarded(self.folder):
                        for name in (SWEEP_MEMBERS, SWEEP_DATASET):
                            shutil.rmtree(self.folder / name, ignore_errors=True)
                        for name in (SWEEP_PLAN, TABLE):
                            (self.folder / name).unlink(missing_ok=True)
                        (self.folder / SWEEP_MEMBERS).mkdir()
                yield
        finally:
            if made and not (self.folder / SWEEP_PLAN).exists():  # the sweep was refused
                shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_for_members(self) -> None:
        """Stop the members of a killed sweep, and wait for them; raises OutputError after a minute."""
        self._stop.touch()
        until = time.monotonic() + _TIMEOUT
        for folder in sorted(path.parent for path in (self.folder / SWEEP_MEMBERS).glob("*/.lock")):
            while True:
                try:
                    with RunFolder.locked(folder):
                        break
                except OutputError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(_POLL)

    def _finished(self) -> set[int]:
        """Return the members that an earlier sweep finished; raises AirshedError if one cannot be resumed."""
        finished = set()
        for member, case in zip(self.plan.members, self.plan.cases, strict=True):
            use = FolderUse(self._run_folder(member), resume=True, accept=self.options.accept_changed_inputs)
            try:
                check_folder(case, use)
            except FinishedRunError:
                finished.add(member.number)
        return finished

    def _run_folder(self, member: Member) -> Path:
        return self.folder / SWEEP_MEMBERS / member.name

    @contextmanager
    def _executor(self) -> Iterator[tuple[Executor, Callable[[], int]]]:
        """Yield the executor, and a function that returns the number of members it runs at once."""
        if self.options.scheduler is not None:
            with dask_executor(self.options.scheduler) as made:
                yield made
            return
        with ThreadPoolExecutor(self._jobs()) as executor:
            yield executor, self._jobs

    def _jobs(self) -> int:
        """Return the number of members at once; 0 for no limit."""
        if self.options.scheduler is not None:
            return self.options.jobs
        return min(self.options.jobs or usable_cores(), len(self.plan.members))

    def _threads(self) -> list[str]:
        """Return the setting of threads for each member, unless the user sets it."""
        keys = [*(key for each in self.plan.dimensions for key in each.keys), *self.plan.settings]
        if not self.options.threads and any(key.partition("=")[0].strip() == "run.threads" for key in keys):
            return []
        share = 1 if self.options.scheduler is not None else max(usable_cores() // self._jobs(), 1)
        return [f"run.threads={self.options.threads or share}"]

    def _task(self, member: Member) -> Task:
        return Task(
            member.number, self.plan.case, (*self.plan.settings, *member.varied, *self._threads()), str(Path.cwd()),
            str(self._run_folder(member)), str(self._run_folder(member)) + ".log", str(self._stop),
            self.plan.allow_code, self.options.accept_changed_inputs,
        )  # fmt: skip

    def _try_first(self, executor: Executor, members: list[Member]) -> None:
        """Build the model of the first member, so that kernels are compiled once for all members.

        Raises CaseError if neither the first nor the last model can be built: the members then share a fault, such as
        an unknown name in the data.
        """
        faults = []
        for member in dict.fromkeys((members[0], members[-1])):
            outcome = _result(_submit(executor, replace(self._task(member), folder=None)), member.number)
            if outcome.state != "failed":
                return
            faults.append(outcome.message)
        raise CaseError(faults[0])

    def _run_all(self, executor: Executor, members: Iterable[Member], slots: Callable[[], int]) -> None:
        """Submit members up to the maximum number at once, and collect them as they end."""
        waiting, tries = list(members)[::-1], dict[int, int]()
        running: dict[Future[Outcome], Member] = {}
        most, took = self._jobs() or len(waiting), list[float]()
        while (waiting and not self._is_stopping) or running:
            while waiting and len(running) < most and not self._is_stopping:
                member = waiting.pop()
                running[_submit(executor, self._task(member))] = member
            self._show(len(waiting), len(running), slots(), took)
            ended, _ = wait(running, _POLL, FIRST_COMPLETED)
            for future in ended:
                member = running.pop(future)
                outcome = _result(future, member.number)
                tries[member.number] = tries.get(member.number, 0) + 1
                again = outcome.state == "failed" and tries[member.number] <= self.options.retries
                if again:
                    waiting.append(member)
                took += [outcome.seconds] if outcome.state == "finished" else []
                self._record(member, outcome, again)
        self._show(0, 0, slots(), took)

    def _show(self, waiting: int, submitted: int, slots: int, took: list[float]) -> None:
        """Report the progress; the time left assumes that running members are half finished."""
        self.progress.running = running = min(submitted, slots)
        if took:
            members = waiting + submitted - running / 2
            self.progress.seconds_left = sum(took) / len(took) * members / max(running, 1)
        self.on_progress(self.progress)

    def _record(self, member: Member, outcome: Outcome, again: bool) -> None:
        self._states[member.number] = (outcome.state, outcome.message)
        self.progress.done += outcome.state == "finished"
        if outcome.state == "failed":
            self.progress.failed += not again
            self.on_failure(member, outcome.message, again)
        if time.monotonic() - self._table_written > _TABLE_INTERVAL:
            self._table_written = time.monotonic()
            self.plan.write_table(self.folder, self._states)


def _submit(executor: Executor, task: Task) -> "Future[Outcome]":
    """Submit a member; an error of the executor, such as a lost scheduler, becomes the result."""
    try:
        return executor.submit(run_member, task)
    except Exception as error:
        refused = Future[Outcome]()
        refused.set_exception(error)
        return refused


def _result(future: "Future[Any]", number: int) -> Outcome:
    """Return the outcome of a member; an error of the executor, such as a lost worker, is a failure of the member."""
    try:
        outcome: Outcome = future.result()
        return outcome
    except (Exception, CancelledError) as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        return Outcome(number, "failed", f"it returned no result, its worker or the scheduler may be lost ({reason})")
