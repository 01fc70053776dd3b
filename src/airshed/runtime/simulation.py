"""Simulation: a model, a clock, and the work between batches of steps (output, restarts, observers, stops)."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from math import inf
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from airshed.case.case import RunCase
from airshed.core.alarm import INSTANT
from airshed.core.errors import CaseError, DataError, ReplayableError
from airshed.core.files import noting_inputs
from airshed.core.text import duration, shown
from airshed.parallel.communicator import Communicator, MpiRanks, world
from airshed.parallel.failure import raising_together
from airshed.runtime.branching import BranchableSimulation
from airshed.runtime.changes import (
    array_value,
    check_alike,
    check_settable,
    is_number,
    numbers_of,
    settable_field,
    undone_on_error,
)
from airshed.runtime.clock import Clock, Observer, ProvisionalStep, StepInfo, Until, due_in, outputs_due, seconds_until
from airshed.runtime.locking import by_one_thread, closed_on_error, one_thread, quick_turns
from airshed.runtime.model import Model
from airshed.runtime.progress import ProgressBar
from airshed.runtime.records import FolderUse, RunRecords, check_folder
from airshed.runtime.registry import BuiltModel, load_case, model_kind


class Simulation(BranchableSimulation):
    """A simulation of a case, which runs as a whole, in parts, or step by step.

    One thread at a time may use it, except :meth:`request_stop`; a second thread gets a CaseError. With several ranks
    (``mpiexec -n 4``) each rank makes the same calls, and fields are complete on all ranks. An error of only some ranks
    ends all of them with its message.

    Parameters
    ----------
    case
        A case of any model, or the path or name of one.
    *given
        Further arguments of the model by position; those of the air are better given by name.
    output
        Folder for results and restarts; None keeps all results in memory.
    resume
        Whether to continue from the newest restart in that folder. ``notices`` states where the run continues.
    accept_changed_inputs
        Whether to resume although input files have changed; the results then record it.
    overwrite
        Whether to replace a run in that folder that gives other results.
    allow_code
        Whether Python functions of the mechanism or the processes of the case may run, with the rights of the user.
    ranks
        Communicator of the run, by default of all ranks that were started together.
    **named
        Further arguments of the model by name. Air takes ``meteorology``, an xarray.Dataset with CF names on time,
        level, lat, lon, or a function of the seconds that returns one; ``initial``, a Dataset of species on level, lat,
        lon; and ``boundary``, a Dataset of species on time, level, face, or a function of the seconds.

    Raises
    ------
    AirshedError
        If the case or its data are wrong, before anything is computed.

    Examples
    --------
    >>> sim = airshed.Simulation("west-europe")
    >>> sim.run(until="6 h")
    >>> sim.plot("O3")
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
            self._log_notices()
            if self._records is not None and self._model.steps == 0:
                self._keep_records()

    def _prepare(self, given: tuple[Any, ...], named: dict[str, Any], use: FolderUse | None) -> None:
        self._kind = model_kind(self.case.model)
        self._stack = ExitStack()
        self._records: RunRecords | None = None
        self._wall = {"preparation": 0.0, "forcing and steps": 0.0, "output and restarts": 0.0}

        def check(ranks: Communicator) -> None:  # called before costly work
            if use is not None:
                check_folder(self.case, use, ranks)

        with noting_inputs() as files:
            built = self._kind.build(self.case, self._everybody, check, *given, **named)
        self.input_files = frozenset(files)
        self._model: Model = built.model
        self.notices = list(built.notices)
        self.end: float = self.case.time.length.value
        self.begin: float = self._model.seconds
        planned, bounded = ([], False) if use is None else self._open_records(built, use)
        self._closed, self._sums, self._written = False, 0.0, ""
        self._in_step = False  # also after an error in a step: the state is then undefined
        self._clock = Clock(self._model, due_in(self.case), self.end, planned, bounded=bounded)
        self._written_at = [] if self._folder is None else outputs_due(self.case)
        self._provisional = ProvisionalStep(self._model)
        self._stop = False
        self._attach_finalizer()

    def _open_records(self, built: BuiltModel, use: FolderUse) -> tuple[list[float], bool]:
        """Prepare the folder, or resume its run; return the ends of the planned steps as :meth:`RunRecords.restore`."""
        with closed_on_error(self._model):
            self._model.longest_step(
                self._model.next_change()
            )  # refuses an invalid step before earlier results are moved
            self._records = self._stack.enter_context(
                RunRecords(self.case, self._model, built.outputs or self.case.output, use, self.input_files)
            )
            self.notices += self._records.notices
            if self._model.domain.is_root:
                for name in self._kind.evidence:
                    (use.path / name).unlink(missing_ok=True)  # evidence of an earlier run
            return self._records.restore()

    @by_one_thread
    def step(self, most: int = 1) -> StepInfo:
        """Advance by one step, or by a batch of steps.

        The step is the longest that the settings of ``time`` and the wind allow.

        Parameters
        ----------
        most
            Most steps in the batch; their ends and bits are those of single steps. All ranks give the same number.

        Returns
        -------
        StepInfo
            Time, number and length of the last step.

        Raises
        ------
        CaseError
            If the simulation is at the end of its case.

        Examples
        --------
        >>> info = sim.step()
        >>> info.dt
        300.0
        """
        with raising_together(self._everybody):
            info = None
            while info is None:
                info = self._steps(self.end, min(most, self._model.batch_limits.batch))
            return info

    @by_one_thread
    def run(self, until: Until = None, observer: Observer | None = None, *, stride: int = 1) -> None:
        """Advance to a time. At the end of the case the output files are written.

        Parameters
        ----------
        until
            Time since the start (``"6 h"``, seconds, a timedelta) or a date in UTC (``"2022-08-31T06:00"``, a datetime,
            a numpy.datetime64); by default the end of the case. Within a step a provisional step gives the state there,
            and later results are bitwise identical to those of a run without a stop.
        observer
            Function that is called with a StepInfo after each step. Without one IPython shows a progress bar.
        stride
            Most steps between two calls of the observer. A batch of several steps takes less time than single steps,
            with the same ends and bits.

        Raises
        ------
        CaseError
            If the time is past or after the end of the case.

        Examples
        --------
        >>> sim.run(until="2022-08-31T06:00")
        >>> sim.run(observer=lambda info: print(info.time))
        """
        self._check_open()
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
        """Stop :meth:`run` after the present batch of steps, with valid files.

        Any thread and any signal handler may call this.

        Examples
        --------
        >>> sim.run(observer=lambda info: sim.request_stop() if info.step == 100 else None)
        """
        self._stop = True

    def _stops(self) -> bool:
        """Return whether a stop was requested on any rank; collective."""
        domain = self._model.domain
        return self._stop if domain.alone else domain.greatest(float(self._stop)) > 0.0

    def _batch(self, observer: Observer | None, stride: int) -> int:
        """Return the largest batch of steps for this rank."""
        if not isinstance(stride, Integral) or stride < 1:
            raise CaseError(
                f"stride = {stride!r} is not a number of steps; give 1 to call the observer after each step, or more"
            )
        batch = self._model.batch_limits.batch
        return batch if observer is None else min(batch, stride)

    @by_one_thread
    def next_step(self) -> float:
        """Return the length [s] of the next step, or the rest of it after a provisional step.

        All ranks call this. Raises CaseError at the end of the case.
        """
        with raising_together(self._everybody):
            self._check_ahead()
            (end,) = self._clock.next_steps(inf, 1)
            return end - self.seconds

    def __setitem__(self, name: str, value: object) -> None:
        """Set a field, such as a species or a number of a process, from the next step on.

        A value is a text with a unit, such as "10 ppb", or an array. A DataArray is converted from its units; other
        arrays are on the whole domain and in the unit of the field. A number is accepted for a field without dimensions
        or without a unit. All ranks set the same value, and a restart stores it. Within a step the state returns to the
        start of that step, which is repeated. Raises CaseError for a field that cannot be set, and for a wrong value.
        """
        spec = self._model.fields.get(name)
        if spec is not None and spec.settable and spec.dims and spec.unit != "1" and is_number(value):
            unit = "ppb" if spec.unit == "mol mol-1" else spec.unit
            raise CaseError(
                f'{name} = {value} has no unit: give a text with one, such as "{value} {unit}", or an array'
            )
        check_settable(self._model, name)
        self.set({name: value})

    def set(self, changes: Mapping[str, Any]) -> None:
        """Change fields and settings of the case from the next step on, all of them or none.

        A field is set in place. For settings the model is rebuilt with the changed case, and takes over the state.

        Parameters
        ----------
        changes
            Values by the name of a field or the dotted key of a setting. A number is in the unit of the field. With
            several ranks all of them set the same values.

        Raises
        ------
        CaseError
            If a value is wrong, if a setting is fixed while the model runs, or if a setting changes while output is
            written.

        Examples
        --------
        >>> sim.set({"emissions.scale.NOx": 0.5})
        >>> sim.set({"time.step": "120 s", "O3": "40 ppb"})
        """
        with one_thread(self._use), raising_together(self._everybody):
            self._check_open()
            if not isinstance(changes, Mapping):
                raise CaseError(f"changes are a dictionary of values by names, not {shown(changes)}")
            check_alike(self._everybody, changes)
            fields = {
                name: array_value(self._model, name, value)
                for path, value in changes.items()
                if (name := settable_field(self._model, path))
            }
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

    @by_one_thread
    def close(self) -> None:
        """Release threads and files. An unfinished run with an output folder can be resumed from here.

        With several ranks all of them call this; it ends both groups of ranks (parallel.groups).

        Examples
        --------
        >>> with airshed.Simulation("west-europe") as sim:  # closes at the end of the block
        ...     sim.run(until="6 h")
        """
        try:
            with raising_together(self._everybody):
                if not (self._closed or self._in_step):
                    self._timed_records(lambda each: each.stop(self._clock, self._provisional.left))
        finally:
            self._free()

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
        """Raise CaseError at the end of the case."""
        self._check_open()
        if self.seconds >= self.end:
            raise CaseError(f"the case ends at {duration(self.end)}, the time of the simulation; increase time.length")

    def _steps(self, until: float, most: int) -> StepInfo | None:
        """Advance by at most `most` steps, or by a provisional step to a time of output within the next step.

        Returns None after a provisional step. The batch depends only on the case and `until`, and is the same on all
        ranks.
        """
        self._check_ahead()
        look = min([until, *(every.next_after(self.seconds) for every in self._written_at)])
        self._undo_provisional()
        self._timed_records(lambda records: records.release())
        most = most if self._records is None else self._records.steps_free(most)
        began, waited, before = time.perf_counter(), self._waited_for_sums(), self.seconds
        with self._with_hint_to_resume():
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
        """Return the time [s] that this rank has spent in sums over ranks, also outside of steps."""
        ranks = self._model.domain.ranks
        return ranks.wait if isinstance(ranks, MpiRanks) else 0.0

    def _undo_provisional(self) -> None:
        """Undo a provisional step after all pending records are copied."""
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
    def _with_hint_to_resume(self) -> Iterator[None]:
        """Add a hint to resume the run to an error of input data."""
        try:
            yield
        except DataError as error:
            if self._records is None:
                raise
            raise DataError(f"{error}; then resume the run") from None

    def _finish_records(self) -> None:
        """Write the results. An unfinished run has shorter results, and can continue."""
        if self._records is None:
            return
        records, complete = self._records, self.seconds >= self.end
        self._timed_records(lambda each: each.stop(self._clock, self._provisional.left))
        self._timed_records(lambda each: each.gather(complete=complete))
        records.finish(self.summary(), complete=complete)
        if complete:
            self._records = None  # a repeated call writes no results

    def _keep_records(self) -> None:
        provisional = self._provisional.left is not None
        self._timed_records(lambda records: records.keep(self._clock, provisional=provisional))

    def _timed_records(self, work: Callable[[RunRecords], object]) -> None:
        if self._records is not None:
            began = time.perf_counter()
            work(self._records)
            self._wall["output and restarts"] += time.perf_counter() - began
