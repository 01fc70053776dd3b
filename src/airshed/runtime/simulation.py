"""A run: a model, a clock, and what happens between stretches of steps (output, restarts, observers, stops)."""

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import xarray as xr

from airshed.air.box import ChemistryFailure
from airshed.air.case import Case, case_notices
from airshed.air.case_weather import Given
from airshed.air.emission_report import emission_notices
from airshed.air.model import AirModel
from airshed.air.two_groups.ranks import allowing_service, closed_on_error, make_groups, only_moves
from airshed.core.errors import CaseError, DataError
from airshed.core.every import INSTANT, Every
from airshed.core.report import Report, Table
from airshed.core.units import to
from airshed.fields.spec import FieldSpec
from airshed.parallel.binding import cores_each
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.failure import raising_together
from airshed.runtime.aside import Aside
from airshed.runtime.clock import Clock
from airshed.runtime.records import RunRecords, check_folder
from airshed.runtime.using import by_one_thread, give_free_unreached
from airshed.runtime.wall_time import waited_for_sums, wall_time

FAILED_CELL = "failed-cell.toml"
"""Conditions in the run folder by which `airshed box` replays a cell whose chemistry came to no end."""

_TURN = 2e-4  # s


@contextmanager
def quick_turns() -> Iterator[None]:
    """Let Python change threads more often, so that a step waits less for the thread that reads ahead.

    With the default of 5 ms each step could wait a third of its own length for its turn.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@dataclass(frozen=True)
class StepInfo:
    """What an observer is told after a stretch of steps, which may be a single one.

    time              [s] since the start of the case, negative in the spin-up
    step, dt          number and length [s] of the last step
    cells_per_second  cells advanced by a step, per second of wall time of the whole stretch
    fraction          part of the whole simulation that is done, 0 to 1
    """

    time: float
    step: int
    dt: float
    cells_per_second: float
    fraction: float


Observer = Callable[[StepInfo], object]
Until = str | float | timedelta | np.timedelta64 | None


class Simulation:
    """A simulation of a case, to be run as a whole, piece by piece, or step by step.

        sim = airshed.Simulation("cases/west-europe")
        sim.run(until="6 h")
        sim["O3"].sel(level=10, method="nearest").plot()

    case         a Case, or the path or name of one
    meteorology  in place of the case's: an xarray.Dataset with CF names (eastward_wind, northward_wind,
                 air_temperature, air_pressure ... on time, level, lat, lon), or a function seconds -> Dataset
    initial      in place of the case's: a Dataset of species on level, lat, lon
    output       folder for results and restarts; None keeps everything in memory
    resume       go on from the newest restart in that folder, or begin where there is none; `notices` says which,
                 and which settings of the case have no effect, or a bad one
    allow_code   whether functions in Python that the case's mechanism brings may run, with your rights
    ranks        those that share the work; None for all that were started together (`mpiexec -n 4`), which is one
                 where none were. Each makes the same calls; fields are whole on all of them
    Raises AirshedError for everything that is wrong with the case and its data, before anything is computed. An error
    that only some ranks meet, here or in a step, ends all of them with its message: the others could only wait.
    One thread at a time may use it, all but :meth:`request_stop`; another one is refused by CaseError.
    """

    def __init__(
        self,
        case: Case | str | Path,
        meteorology: Given = None,
        initial: xr.Dataset | None = None,
        *,
        output: str | Path | None = None,
        resume: bool = False,
        allow_code: bool = False,
        ranks: Communicator | None = None,
    ) -> None:
        self._everybody = world() if ranks is None else ranks
        self._use = threading.RLock()
        with raising_together(self._everybody):
            self._prepare(case, meteorology, initial, output, resume=resume, allow_code=allow_code)

    def _prepare(
        self, case: Case | str | Path, meteorology: Given, initial: xr.Dataset | None, output: str | Path | None, *,
        resume: bool, allow_code: bool,
    ) -> None:  # fmt: skip
        began, ranks = time.perf_counter(), self._everybody
        if not isinstance(case, Case | str | Path):
            raise CaseError(f"the case is a {type(case).__name__}; give a path, or Case.from_dict(...) of a dictionary")
        self.case = case if isinstance(case, Case) else Case.load(case)
        self.case = self.case.allowing_code() if allow_code else self.case
        if only_moves(self.case, ranks):
            raise CaseError(
                f"rank {ranks.rank} only moves species for others (parallel.groups): let it call airshed.serve(case), "
                "see airshed.only_moves"
            )
        groups = make_groups(self.case, ranks)
        ranks = ranks if groups is None else groups.own
        with allowing_service(groups):
            if output is not None:
                check_folder(self.case, Path(output), resume=resume, ranks=ranks)
        self._stack = ExitStack()
        self._records: RunRecords | None = None
        self.notices: list[str] = []
        self.wall = {"preparation": 0.0, "forcing and steps": 0.0, "output and restarts": 0.0}
        threads = self.case.run.threads or cores_each(ranks if groups is None else groups.world)
        self._groups = groups
        stretch: list[float] = []
        with closed_on_error(groups):
            self.model = AirModel(self.case, meteorology, initial, threads=threads, ranks=ranks, groups=groups)
            self.notices += case_notices(self.case, self.model.network)
            self.notices += emission_notices(self.model.parts.sources)
            self.end = self.case.time.length.value
            self._begin = self.model.seconds
            if output is not None:
                stretch = self._open_records(Path(output), resume=resume)
        self._folder = None if output is None else Path(output)
        self._closed, self._sums, self._written = False, 0.0, ""
        self._amid_steps = False  # for good, where an error breaks them off: the state is then that of no time
        outputs = [Every(each.every.value, first=0.0) for each in self.case.output]
        self._clock = Clock(self.model, [*outputs, Every(self.case.restart.every.value)], self.end, stretch)
        self._written_at = [] if output is None else outputs
        self._aside = Aside(self.model)
        self._stop = False
        self.wall["preparation"] = time.perf_counter() - began
        self._unreached = weakref.finalize(
            self, give_free_unreached, self._everybody, self._stack, self._records, self.model
        )
        self._unreached.atexit = False  # the system gives all free then
        if self._records is not None and self.model.steps == 0:
            self._keep_records()

    def _open_records(self, folder: Path, *, resume: bool) -> list[float]:
        """Prepare the folder, or take its run up again; return the ends of the steps that were to come there."""
        try:
            self.model.longest_step(self.model.next_change())  # refuses its step before earlier results are set aside
            self._records = self._stack.enter_context(
                RunRecords(self.case, self.model, self.model.parts.case.output, folder, resume=resume)
            )
            self.notices += self._records.notices
            if self.model.share.is_root:
                (folder / FAILED_CELL).unlink(missing_ok=True)  # of an earlier run
            return self._records.restore()
        except BaseException:
            self.model.close()
            raise

    @property
    def seconds(self) -> float:
        """Simulated time [s] since the start of the case; negative in the spin-up."""
        return self.model.seconds

    @property
    def time(self) -> np.datetime64:
        """Simulated time, UTC."""
        moment: np.datetime64 = self.case.start + np.timedelta64(round(self.seconds * 1e3), "ms")
        return moment

    @by_one_thread
    def step(self) -> StepInfo:
        """Advance by one step, as long as the case and the wind allow. Raises CaseError at the end of the case."""
        with raising_together(self._everybody):
            info = None
            while info is None:
                info = self._steps(self.end, 1)
            return info

    @by_one_thread
    def run(self, until: Until = None, observer: Observer | None = None, *, stride: int = 1) -> None:
        """Advance to a time since the start ("6 h", seconds, a timedelta), by default to the end of the case.

        Where that lies amid a step the state is shown there, and what comes later has the bits of a run without a stop.
        `observer` is called with a StepInfo after each step, or less often: after `stride` steps at the latest, since
        steps that nobody looks between are made quicker, several at once. Their ends and bits are the same. At the end
        of the case the output file is written.
        """
        target, most = self._target(until), self._at_once(observer, stride)
        try:
            with raising_together(self._everybody), quick_turns():
                most = self._agreed(most)
                stopped = self._stops()
                while not stopped and target - self.seconds > INSTANT:
                    info = self._steps(target, most)
                    if observer is not None and info is not None:
                        observer(info)
                    stopped = self._stops()
                if stopped or self.seconds >= self.end:
                    self._finish_records()
        except BaseException:
            self._give_free()
            raise
        finally:
            self._stop = False

    def request_stop(self) -> None:
        """Let :meth:`run` end after the present batch of steps, with valid files; callable from a signal handler."""
        self._stop = True

    def _stops(self) -> bool:
        """Whether the run is to stop here, as one of the ranks was asked to; all of them ask together."""
        return self._stop if self.model.share.alone else self.model.share.greatest(float(self._stop)) > 0.0

    def _at_once(self, observer: Observer | None, stride: int) -> int:
        """The longest stretch of steps that this rank wants."""
        if not isinstance(stride, Integral) or stride < 1:
            raise CaseError(f"stride = {stride!r} is no number of steps; give 1, for an observer after each, or more")
        return self.model.at_once if observer is None else min(self.model.at_once, stride)

    def _agreed(self, most: int) -> int:
        """The longest stretch that all ranks make: the shortest that one wants, as not each need have an observer."""
        return -int(self.model.share.greatest(-most))

    def __repr__(self) -> str:
        size = " x ".join(str(count) for count in reversed(self.model.whole.shape))
        return f"<Simulation {self.case.title!r}: {size} cells (lon x lat x level), at {self.time}>"

    @by_one_thread
    def __getitem__(self, name: str) -> xr.DataArray:
        """A field, such as a species [mol/mol] on (level, lat, lon), with its unit and coordinates; of the whole area.

        With several ranks all of them ask.
        """
        self._check_group()
        spec: FieldSpec = self.model.registry.select([name], where="field")[0]
        grid = self.model.whole
        coordinates = {
            "level": ("level", grid.level, {"units": "m", "long_name": "height above ground", "positive": "up"}),
            "lat": ("lat", grid.lat, {"units": "degrees_north"}),
            "lon": ("lon", grid.lon, {"units": "degrees_east"}),
        }
        attributes = {"units": spec.unit, "long_name": spec.text}
        return xr.DataArray(
            np.array(self.model.share.whole(self.model.value(name))),
            dims=spec.dims,
            name=name,
            attrs=attributes,
            coords={dim: coordinates[dim] for dim in spec.dims} | {"time": self.time},
        )

    @by_one_thread
    def budget(self) -> xr.Dataset:
        """What each process did to each species and to the families of nitrogen and sulphur since the start [mol].

        Variables: inflow, outflow, emitted, deposited, chemistry, clipped, change, residual; dimension: species.
        """
        from airshed.air.report import budget_dataset

        self._check_group()
        return budget_dataset(self.model)

    @by_one_thread
    def summary(self, *, brief: bool = False) -> Report:
        """Budgets, extremes, what was read and what was diagnosed, and where the time went; `brief` fits a screen."""
        self._check_group()
        report = self.model.summary(brief=brief)
        return Report(report.title, [*report.tables, self._timing()], report.facts, report.ok)

    @by_one_thread
    def close(self) -> None:
        """Give threads and files free; what is unfinished can be resumed from here. Once is enough, by all ranks.

        It ends the other group; ranks in groups cannot ask for fields and sums any more.
        """
        try:
            with raising_together(self._everybody):
                if not (self._closed or self._amid_steps):
                    self._timed_records(lambda each: each.stop(self._clock.stretch, self._aside.left))
        finally:
            self._give_free()

    def _give_free(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._unreached.detach()
        self._stack.close()
        self.model.close()
        if self._groups is not None:
            self._groups.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._give_free()

    def _check_open(self) -> None:
        if self._closed or self._amid_steps:
            raise CaseError("this simulation was closed, or ended by an error; make a new one")

    def _check_group(self) -> None:
        """Refuse what ranks in groups do together, once their communicator was given back."""
        if self._groups is not None:
            self._check_open()

    def _steps(self, until: float, most: int) -> StepInfo | None:
        """Make a stretch of steps, `most` of them; or one aside to where somebody looks amid the next one: None.

        How many depends on the case and `until` alone, and is the same on all ranks.
        """
        self._check_open()
        if self.seconds >= self.end:
            raise CaseError(f"the case ends at {self.end:g} s, and so far it is simulated; lengthen time.length")
        look = min([until, *(every.next_after(self.seconds) for every in self._written_at)])
        self._leave_aside()
        self._timed_records(lambda records: records.release())
        most = most if self._records is None else self._records.steps_free(most)
        began, waited, before = time.perf_counter(), waited_for_sums(self.model), self.seconds
        with self._telling_to_resume():
            ends = self._clock.next_steps(look, most)
            if ends:
                self._advance(lambda: self.model.step_through(ends))
            else:
                self._advance(lambda: self._aside.go(look))
        elapsed = time.perf_counter() - began
        self.wall["forcing and steps"] += elapsed
        self._sums += waited_for_sums(self.model) - waited
        self._keep_records()
        if not ends:
            return None
        fraction = (self.seconds - self._begin) / (self.end - self._begin)
        speed = self.model.cells * len(ends) / max(elapsed, 1e-9)
        last = self.seconds - (ends[-2] if len(ends) > 1 else before)
        return StepInfo(self.seconds, self.model.steps, last, speed, fraction)

    def _leave_aside(self) -> None:
        """Go back to where the run was left for a step aside, once all is copied of what is still to be written."""
        if self._aside.left is not None:
            self._timed_records(lambda records: records.release(everything=True))
            self._aside.back()

    def _advance(self, make_steps: Callable[[], None]) -> None:
        self._amid_steps = True
        try:
            make_steps()
        except ChemistryFailure as failure:
            if self._folder is None:
                raise
            raise failure.write(self._folder / FAILED_CELL, self.case.mechanism) from None
        self._amid_steps = False

    @contextmanager
    def _telling_to_resume(self) -> Iterator[None]:
        """Add to what is wrong with data that is read as the run goes on that the run can."""
        try:
            yield
        except DataError as error:
            if self._records is None:
                raise
            raise DataError(f"{error}; then resume the run") from None

    def _timing(self) -> Table:
        if self._records is not None:
            self._written = self._records.written()
        return wall_time(self.model, self.wall, self._sums, self._written)

    def _finish_records(self) -> None:
        """Write the results; of a run that is not at its end they are shorter, and it can go on."""
        if self._records is None:
            return
        records, complete = self._records, self.seconds >= self.end
        if not complete:
            self._timed_records(lambda each: each.stop(self._clock.stretch, self._aside.left))
        self._timed_records(lambda each: each.gather(complete=complete))
        records.finish(self.summary(), complete=complete)
        if complete:
            self._records = None  # nothing is left to write, however often the end is asked for

    def _keep_records(self) -> None:
        aside = self._aside.left is not None
        self._timed_records(lambda records: records.keep(lambda: self._clock.stretch, aside=aside))

    def _timed_records(self, work: Callable[[RunRecords], object]) -> None:
        if self._records is not None:
            began = time.perf_counter()
            work(self._records)
            self.wall["output and restarts"] += time.perf_counter() - began

    def _target(self, until: Until) -> float:
        if until is None:
            return self.end
        if isinstance(until, timedelta | np.timedelta64):
            until = float(np.timedelta64(until) / np.timedelta64(1, "s"))
        seconds = float(until) if isinstance(until, Real) else to(until, "s", where="until")
        if not isfinite(seconds):
            raise CaseError(f'until = {until!r} is no time; give seconds since the start, or a text such as "6 h"')
        if seconds > self.end:
            raise CaseError(f"until = {until!r} lies beyond the end of the case, {self.end:g} s; lengthen time.length")
        return seconds
