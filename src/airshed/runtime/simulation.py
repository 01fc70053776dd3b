"""A run: a model, a clock, and what happens between batches of steps (output, restarts, observers, stops)."""

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from airshed.case.case import RunCase
from airshed.core.alarm import INSTANT
from airshed.core.errors import CaseError, DataError, ReplayableError
from airshed.core.files import noting_inputs
from airshed.parallel.communicator import Communicator, MpiRanks, world
from airshed.parallel.failure import raising_together
from airshed.runtime.changes import (
    Effect,
    check_alike,
    check_same_state,
    check_settable,
    is_number,
    numbers_of,
    settable_field,
    undone_on_error,
)
from airshed.runtime.clock import Clock, ProvisionalStep, Until, due_in, outputs_due, seconds_until
from airshed.runtime.model import CASE_HASH, Model, Saved, Snapshot
from airshed.runtime.progress import ProgressBar
from airshed.runtime.records import PLANNED, FolderUse, RunRecords, check_folder
from airshed.runtime.registry import Built, load_case, model_kind
from airshed.runtime.using import by_one_thread, closed_on_error, free_unreferenced, one_thread, quick_turns
from airshed.runtime.view import SimulationView

_LOGGER: Final = logging.getLogger("airshed")
_SILENT: Final = ContextVar("silent", default=False)
"""Whether a new simulation leaves its notices out of the log."""


@dataclass(frozen=True)
class StepInfo:
    """What an observer gets after a batch of steps, which may be a single one.

    time              [s] since the start of the case, negative in the spin-up
    step, dt          number and length [s] of the last step
    cells_per_second  cells advanced by a step, per second of wall time of the whole batch
    fraction          part of the whole simulation that is done, 0 to 1
    """

    time: float
    step: int
    dt: float
    cells_per_second: float
    fraction: float


Observer = Callable[[StepInfo], object]


class Simulation(SimulationView):
    """A simulation of a case, to be run as a whole, piece by piece, or step by step.

        sim = airshed.Simulation("cases/west-europe")
        sim.run(until="6 h")
        sim["O3"].sel(level=10, method="nearest").plot()

    case         a case of any model, or the path or name of one
    given        further arguments of its model. Air takes `meteorology` in place of the case's: an xarray.Dataset
                 with CF names (eastward_wind, northward_wind, air_temperature, air_pressure ... on time, level, lat,
                 lon), or a function seconds -> Dataset; `initial`: a Dataset of species on level, lat, lon; and
                 `boundary`: a Dataset of species on time, level, face, or a function seconds -> Dataset
    output       folder for results and restarts; None keeps everything in memory
    resume       continue from the newest restart in that folder, or begin where no run is; `notices` says which,
                 and which settings of the case have no effect, or a bad one
    accept_changed_inputs   resume although files that the run has read have changed; its results then say so
    overwrite    replace a run in that folder that gives other results, which is refused else
    allow_code   whether functions in Python that the case brings may run, with your rights
    ranks        those of the run; None for all that were started together (`mpiexec -n 4`), which is one without
                 mpiexec. Each makes the same calls; fields are whole on all of them
    Raises AirshedError for everything that is wrong with the case and its data, before anything is computed. An error
    of only some ranks, here or in a step, ends all of them with its message, as the others could only wait.
    One thread at a time may use it, except :meth:`request_stop`; a second one gets a CaseError.
    """

    def __init__(
        self,
        case: RunCase | str | Path,
        *given: Any,
        output: str | Path | None = None,
        resume: bool = False,
        accept_changed_inputs: bool = False,
        overwrite: bool = False,
        allow_code: bool = False,
        ranks: Communicator | None = None,
        **named: Any,
    ) -> None:
        self._everybody = world() if ranks is None else ranks
        self._use = threading.RLock()
        with raising_together(self._everybody):
            began = time.perf_counter()
            if not isinstance(case, RunCase | str | Path):
                given_type = type(case).__name__
                raise CaseError(f"the case is a {given_type}; give a path, or Case.from_dict(...) of a dictionary")
            loaded = case if isinstance(case, RunCase) else load_case(case)
            self.case: Any = loaded.allowing_code() if allow_code else loaded
            self._folder = None if output is None else Path(output)
            use = None if output is None else FolderUse(Path(output), resume, overwrite, accept_changed_inputs)
            self._given = given, named
            self._prepare(given, named, use)
            self._wall["preparation"] = time.perf_counter() - began
            if self._model.domain.is_root and not _SILENT.get():
                for notice in self.notices:
                    _LOGGER.warning(notice)
            if self._records is not None and self._model.steps == 0:
                self._keep_records()

    def _prepare(self, given: tuple[Any, ...], named: dict[str, Any], use: FolderUse | None) -> None:
        self._kind = model_kind(self.case.model)
        self._stack = ExitStack()
        self._records: RunRecords | None = None
        self._wall = {"preparation": 0.0, "forcing and steps": 0.0, "output and restarts": 0.0}

        def check(ranks: Communicator) -> None:  # before anything costly is done
            if use is not None:
                check_folder(self.case, use, ranks)

        with noting_inputs() as files:
            built = self._kind.build(self.case, self._everybody, check, *given, **named)
        self.input_files = frozenset(files)
        self._model: Model = built.model
        self.notices = list(built.notices)
        self.end: float = self.case.time.length.value
        self.begin: float = self._model.seconds
        planned = [] if use is None else self._open_records(built, use)
        self._closed, self._sums, self._written = False, 0.0, ""
        self._in_step = False  # also after an error in a step: the state then belongs to no time
        self._clock = Clock(self._model, due_in(self.case), self.end, planned)
        self._written_at = [] if self._folder is None else outputs_due(self.case)
        self._provisional = ProvisionalStep(self._model)
        self._stop = False
        self._attach_finalizer()

    def _attach_finalizer(self) -> None:
        self._finalizer = weakref.finalize(
            self, free_unreferenced, self._everybody, self._stack, self._records, self._model
        )
        self._finalizer.atexit = False  # the system frees all then

    def _open_records(self, built: Built, use: FolderUse) -> list[float]:
        """Prepare the folder, or resume its run; return the ends of the steps that were planned there."""
        with closed_on_error(self._model):
            self._model.longest_step(self._model.next_change())  # refuses its step before earlier results are set aside
            self._records = self._stack.enter_context(
                RunRecords(self.case, self._model, built.outputs or self.case.output, use, self.input_files)
            )
            self.notices += self._records.notices
            if self._model.domain.is_root:
                for name in self._kind.evidence:
                    (use.path / name).unlink(missing_ok=True)  # of an earlier run
            return self._records.restore()

    @by_one_thread
    def step(self, most: int = 1) -> StepInfo:
        """Advance by one step, as long as the case and the wind allow. Raises CaseError at the end of the case.

        most  steps that may be made in one batch, with the same ends and bits; all ranks give the same number
        """
        with raising_together(self._everybody):
            info = None
            while info is None:
                info = self._steps(self.end, min(most, self._model.pace.batch))
            return info

    @by_one_thread
    def run(self, until: Until = None, observer: Observer | None = None, *, stride: int = 1) -> None:
        """Advance to a time since the start ("6 h", seconds, a timedelta) or a date, by default to the end of the case.

        If that lies within a step, a provisional step shows the state there; later bits are those without a stop.
        `observer` is called with a StepInfo after each step, or less often: after `stride` steps at the latest, since
        a batch of several steps takes less time than single steps. Their ends and bits are the same. At the end of the
        case the output file is written.
        """
        target = seconds_until(until, self.case.start, self.seconds, self.end)
        most = self._batch(observer, stride)
        try:
            bar = ProgressBar(enabled=observer is None and self._model.domain.is_root)
            with bar, raising_together(self._everybody), quick_turns():
                first = self.seconds
                most = -int(self._model.domain.greatest(-most))  # the smallest: some ranks may have no observer
                stopped = self._stops()
                while not stopped and target - self.seconds > INSTANT:
                    info = self._steps(target, most)
                    if observer is not None and info is not None:
                        observer(info)
                    bar((self.seconds - first) / (target - first), self._clock_text())
                    stopped = self._stops()
                if stopped or self.seconds >= self.end:
                    self._finish_records()
        except BaseException:
            self._free()
            raise
        finally:
            self._stop = False

    def _clock_text(self) -> str:
        """Return the simulated time in words, for a progress bar."""
        clock = str(self.time.astype("datetime64[m]")).replace("T", " ")
        return f"{clock} UTC{' (spin-up)' if self.seconds < 0.0 else ''}"

    def request_stop(self) -> None:
        """Let :meth:`run` end after the present batch of steps, with valid files; callable from a signal handler."""
        self._stop = True

    def _stops(self) -> bool:
        """Whether a stop was requested on any of the ranks; all of them call this together."""
        domain = self._model.domain
        return self._stop if domain.alone else domain.greatest(float(self._stop)) > 0.0

    def _batch(self, observer: Observer | None, stride: int) -> int:
        """The largest batch of steps that this rank wants."""
        if not isinstance(stride, Integral) or stride < 1:
            raise CaseError(f"stride = {stride!r} is no number of steps; give 1, for an observer after each, or more")
        batch = self._model.pace.batch
        return batch if observer is None else min(batch, stride)

    @by_one_thread
    def next_step(self) -> float:
        """The length [s] of the next step, or what is left of it where the state is shown within one.

        All ranks call this. Raises CaseError at the end of the case.
        """
        with raising_together(self._everybody):
            self._check_ahead()
            (end,) = self._clock.next_steps(inf, 1)
            return end - self.seconds

    def __setitem__(self, name: str, value: object) -> None:
        """Change a settable field, such as a number of a process, from the next step on; all ranks set it alike.

        value  a text with a unit, such as "10 ppb", or an array of the whole domain in the unit of the field; a
               number where the field has no dimensions, or no unit
        Raises CaseError for a field that is not settable, and for a value that cannot be. A restart keeps it. Where the
        state is shown within a step, time goes back to the beginning of that step, which is made anew.
        """
        spec = self._model.fields.get(name)
        if spec is not None and spec.settable and spec.dims and spec.unit != "1" and is_number(value):
            raise CaseError(
                f'{name} = {value} has no unit: give a text with one, such as "{value} {spec.unit}", or an array'
            )
        check_settable(self._model, name)
        self.set({name: value})

    def set(self, changes: Mapping[str, Any]) -> None:
        """Change settable fields and settings of the case, all or none, from the next step on; on all ranks alike.

        changes  values by the name of a field or the path of a setting: ``{"emissions.scale.NOx": 0.5}``; dots in the
                 name of a field stand for underscores, and a number is in its unit
        A field is set in place. For settings the model is built once more, under the changed case, and takes over the
        state. Raises CaseError for what cannot be, also for settings where output is written, as they change its case.
        """
        with one_thread(self._use), raising_together(self._everybody):
            self._check_open()
            check_alike(self._everybody, changes)
            fields = {name: value for path, value in changes.items() if (name := settable_field(self._model, path))}
            settings = {path: value for path, value in changes.items() if not settable_field(self._model, path)}
            self._check_changes(settings)
            changed = self.branch(case=self.case.patched(settings)) if settings else self
            changed._undo_provisional()
            with undone_on_error(changed._model, fields), closed_on_error(*([] if changed is self else [changed])):
                before = numbers_of(changed._model, fields)
                for name, value in fields.items():
                    changed._model.set(name, value)
            if before is None or before != numbers_of(changed._model, fields):
                changed._clock.replan()
                changed._timed_records(lambda records: records.change())
            if changed is not self:
                self._continue_as(changed)

    def effect(self, path: str) -> Effect:
        """Return what a change of a field or a setting does: set in place, rebuild the model; or that it is fixed."""
        if settable_field(self._model, path):
            return "in place"
        return "fixed" if self._records is not None or self.case.is_fixed(path) else "rebuild"

    def _check_changes(self, settings: Mapping[str, Any]) -> None:
        """Raise CaseError for settings that cannot change while the model runs."""
        for path, value in settings.items():
            is_field = path in self._model.fields and not isinstance(value, Mapping)
            if is_field or path.partition(".")[0] not in type(self.case).model_fields:
                check_settable(self._model, path)
            if self.case.is_fixed(path):
                raise CaseError(f"{path} cannot change while the model runs; begin a run of a case with another {path}")
            if self._records is not None:
                raise CaseError(f"{path} cannot change while output is written; make a branch, or a run without output")

    def _continue_as(self, other: "Simulation") -> None:
        """Go on with the model, the case and the time of another simulation, which exists no more."""
        self._free()
        other._finalizer.detach()
        vars(self).update({name: each for name, each in vars(other).items() if name != "_use"})
        self._attach_finalizer()

    @by_one_thread
    def snapshot(self) -> Snapshot:
        """Return the state in memory, from which :meth:`restore` and :meth:`branch` go on with the same bits.

        With several ranks each has its part. What was set is in it, and so is the plan of the next steps.
        """
        with raising_together(self._everybody):
            self._check_open()
            left = self._provisional.left
            saved = (self._model.save() if left is None else left).copied()
            of_run = {PLANNED: self._clock.planned, CASE_HASH: self.case.hash}
            return replace(saved, metadata={**saved.metadata, **of_run})

    @by_one_thread
    def restore(self, saved: Saved, case: RunCase | None = None) -> None:
        """Go back, or forward, to a snapshot of this case, or of another whose state consists of the same arrays.

        Also after an error in a step. Raises CaseError where output is written, which stays as it is.
        """
        with raising_together(self._everybody):
            if self._records is not None:
                raise CaseError("a simulation that writes into a folder cannot go back; make a branch, or one without")
            if self._closed:
                self._check_open()
            if case is not None and case != self.case:
                self._continue_as(self.branch(saved, case))
                return
            self._provisional.left = None
            self._model.restore(saved)
            same = saved.metadata.get(CASE_HASH, self.case.hash) == self.case.hash
            planned = saved.metadata.get(PLANNED, []) if same else []
            self._clock = Clock(self._model, due_in(self.case), self.end, planned)
            self._in_step = False

    def branch(self, saved: Saved | None = None, case: RunCase | None = None) -> "Simulation":
        """Return another simulation, in memory, that goes on from a snapshot, by default from now.

        case  another case, whose state consists of the same: other emissions, another scheme of deposition; by default
              this one
        """
        given, named = self._given
        silent = _SILENT.set(True)  # the notices of this simulation hold for its branches
        try:
            other = Simulation(self.case if case is None else case, *given, ranks=self._everybody, **named)
        finally:
            _SILENT.reset(silent)
        with closed_on_error(other):
            if other.case != self.case:
                check_same_state(self._model, other._model)
            other.restore(self.snapshot() if saved is None else saved)
        return other

    @by_one_thread
    def close(self) -> None:
        """End threads and close files; an unfinished run can be resumed from here. All ranks call this, once.

        It ends the other group; ranks in groups cannot ask for fields and sums afterwards.
        """
        try:
            with raising_together(self._everybody):
                if not (self._closed or self._in_step):
                    self._timed_records(lambda each: each.stop(self._clock.planned, self._provisional.left))
        finally:
            self._free()

    def _free(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._finalizer.detach()
        self._stack.close()
        self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._free()

    def _check_ahead(self) -> None:
        """Refuse a step beyond the end of the case."""
        self._check_open()
        if self.seconds >= self.end:
            raise CaseError(f"the case ends at {self.end:g} s, and so far it is simulated; lengthen time.length")

    def _steps(self, until: float, most: int) -> StepInfo | None:
        """Make a batch of at most `most` steps, or a provisional step to a time of output within the next step.

        Returns None after a provisional step. The batch depends on the case and `until` alone, so all ranks make the
        same one.
        """
        self._check_ahead()
        look = min([until, *(every.next_after(self.seconds) for every in self._written_at)])
        self._undo_provisional()
        self._timed_records(lambda records: records.release())
        most = most if self._records is None else self._records.steps_free(most)
        began, waited, before = time.perf_counter(), self._waited_for_sums(), self.seconds
        with self._telling_to_resume():
            ends = self._clock.next_steps(look, most)
            if ends:
                self._advance(lambda: self._model.step_through(ends))
            else:
                self._advance(lambda: self._provisional.make(look))
        elapsed = time.perf_counter() - began
        self._wall["forcing and steps"] += elapsed
        self._sums += self._waited_for_sums() - waited
        self._keep_records()
        if not ends:
            return None
        fraction = (self.seconds - self.begin) / (self.end - self.begin)
        speed = self._model.domain.cells * len(ends) / max(elapsed, 1e-9)
        last = self.seconds - (ends[-2] if len(ends) > 1 else before)
        return StepInfo(self.seconds, self._model.steps, last, speed, fraction)

    def _waited_for_sums(self) -> float:
        """Return the time [s] that this rank has spent in sums over ranks so far, also outside of steps."""
        ranks = self._model.domain.ranks
        return ranks.wait if isinstance(ranks, MpiRanks) else 0.0

    def _undo_provisional(self) -> None:
        """Undo a provisional step, once all records that are still to be written are copied."""
        if self._provisional.left is not None:
            self._timed_records(lambda records: records.release(everything=True))
            self._provisional.undo()

    def _advance(self, make_steps: Callable[[], None]) -> None:
        self._in_step = True
        try:
            make_steps()
        except ReplayableError as failure:
            if self._folder is None:
                raise
            raise failure.keep(self._folder, self.case) from None
        self._in_step = False

    @contextmanager
    def _telling_to_resume(self) -> Iterator[None]:
        """Add to an error of data that is read during the run that the run can be resumed."""
        try:
            yield
        except DataError as error:
            if self._records is None:
                raise
            raise DataError(f"{error}; then resume the run") from None

    def _finish_records(self) -> None:
        """Write the results; of a run that is not at its end they are shorter, and it can go on."""
        if self._records is None:
            return
        records, complete = self._records, self.seconds >= self.end
        if not complete:
            self._timed_records(lambda each: each.stop(self._clock.planned, self._provisional.left))
        self._timed_records(lambda each: each.gather(complete=complete))
        records.finish(self.summary(), complete=complete)
        if complete:
            self._records = None  # nothing is left to write, however often the end is asked for

    def _keep_records(self) -> None:
        provisional = self._provisional.left is not None
        self._timed_records(lambda records: records.keep(lambda: self._clock.planned, provisional=provisional))

    def _timed_records(self, work: Callable[[RunRecords], object]) -> None:
        if self._records is not None:
            began = time.perf_counter()
            work(self._records)
            self._wall["output and restarts"] += time.perf_counter() - began
