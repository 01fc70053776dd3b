"""Output files and restarts of a run in its run folder."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from math import floor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from airshed.case.case import MACHINE, WRITING, RunCase
from airshed.case.sections import OutputSection
from airshed.core.alarm import INSTANT, Alarm
from airshed.core.errors import AirshedError, OutputError
from airshed.core.report import Report
from airshed.core.text import duration
from airshed.core.toml_text import parse_toml
from airshed.core.units import to
from airshed.io.background import PendingCopies
from airshed.io.channel import Channel
from airshed.io.folder import RECORDS, RESTARTS, RunFolder, check_usable
from airshed.io.output import Output, OutputWriter
from airshed.io.restart import RestartStore
from airshed.io.run_state import Inputs
from airshed.io.strategies.choice import AUTO, Strategy, check_there
from airshed.io.strategies.store import count_records
from airshed.parallel.communicator import Communicator, SingleRank
from airshed.runtime.clock import Clock
from airshed.runtime.model import Model, Snapshot
from airshed.runtime.statistics import TimeStatistics

MAY_DIFFER = ("title", "description", *(f"output.*.{name}" for name in WRITING), *MACHINE)
"""Settings that may differ between two runs with the same results."""
PLANNED = "planned_steps"
"""Key of the ends of the planned steps in restarts and snapshots."""
_END, _BOUNDED = "end", "bounded_by_end"
"""Keys of the end of the run [s] in a restart, and whether the end has determined steps up to the restart."""
_HOUR = 3600.0


@dataclass(frozen=True)
class FolderUse:
    """Use of a run folder.

    resume     continue the run in the folder
    overwrite  replace a run that gives other results
    accept     resume a run although its input files have changed
    """

    path: Path
    resume: bool = False
    overwrite: bool = False
    accept: bool = False

    def inputs(self, case: RunCase, files: Collection[Path] = ()) -> Inputs:
        """Return the input files of a run of a case."""
        return Inputs(files, case.base, self.accept)


def check_folder(case: RunCase, use: FolderUse, ranks: Communicator | None = None) -> None:
    """Check that a folder can take the records of a run, before costly work; see io.folder.

    The root checks. Its error is raised on all ranks, also for a strategy whose library is missing.
    """

    def check() -> None:
        check_usable(
            use.path, case.to_toml(), resume=use.resume, overwrite=use.overwrite, may_differ=MAY_DIFFER,
            inputs=use.inputs(case),
        )  # fmt: skip

    with closing(Channel(ranks or SingleRank())) as channel:
        channel.on_root(check)
        with channel.together():
            for text in (*(section.strategy for section in case.output), case.restart.strategy):
                check_there(Strategy.parse(text))


@contextmanager
def fitting(folder: Path) -> Iterator[None]:
    """Convert errors of restoring a complete state of another model to OutputError."""
    try:
        yield
    except AirshedError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise OutputError(
            f"a state in {folder} cannot be resumed ({reason}): it is of another model, or was edited; "
            "replace it by a copy, or start again without --resume"
        ) from error


class RunRecords:
    """Writer of output and restarts of a model when they are due; it also resumes a run.

    outputs  outputs, with the names of the model
    files    input files of the model
    notices  messages about the start: the time from which a run is resumed, and damaged restarts

    Raises OutputError for an unusable folder, and CaseError if the run to resume has another case.
    """

    def __init__(
        self, case: RunCase, model: Model, outputs: Sequence[OutputSection], use: FolderUse,
        files: Collection[Path] = (),
    ) -> None:  # fmt: skip
        self._case, self._model, self._outputs = case, model, outputs
        domain = model.domain
        self._folder = RunFolder(
            use.path, case.to_toml(), resume=use.resume, overwrite=use.overwrite, may_differ=MAY_DIFFER,
            inputs=use.inputs(case, files), ranks=domain.ranks,
        )  # fmt: skip
        try:
            self._store = RestartStore(self._folder, domain.held, case.restart.strategy)
            self._restart = self._store.latest(partial(_fits, case.time.length.value)) if self._folder.resumed else None
            self._refuse_lost_restarts()
            self.notices = self._tell_beginning() if use.resume else []
            resume_from = None if self._restart is None or self._restart.seconds < 0.0 else self._restart.seconds
            if self._folder.resumed:
                self._folder.begin_at(None if self._restart is None else self._restart.seconds)
            self._writers = [self._writer(section, resume_from) for section in outputs]
            self._folder.note_copied()
            self._statistics = {
                section.name: TimeStatistics(section.name, section.statistic, writer, domain)
                for section, writer in zip(outputs, self._writers, strict=True)
                if section.statistic != "point"
            }
            if resume_from is not None:  # the strategy of existing records, where the case has "auto"
                self.notices += [
                    f"{section.name} continues with {writer.strategy}, the strategy of its records"
                    for section, writer in zip(outputs, self._writers, strict=True)
                    if Strategy.parse(section.strategy).name == AUTO
                ]
            length = case.time.length
            self.notices += [
                f"output {each.name} has no record: the first {each.statistic} over {each.every.text} is complete "
                f"after the end of the case, time.length = {length.text!r}"
                for each in outputs
                if each.statistic != "point" and each.every.value > length.value + INSTANT
            ]
        except BaseException:
            self._folder.close()
            raise
        self._restart_due = Alarm(case.restart.every.value)
        self._restarts = self._restart_due.last_until(model.seconds)
        self._saved_at: float | None = None
        self._is_changed = False
        self._lent = PendingCopies()

    def restore(self) -> tuple[list[float], bool]:
        """Restore the newest restart if the run is resumed.

        Returns the ends of its planned steps, and whether the end of the run has determined some.
        """
        if self._restart is None:
            return [], False
        with fitting(self._folder.path / RESTARTS):
            self._model.restore(self._restart)
            for statistics in self._statistics.values():
                statistics.restore(self._restart)
        self._saved_at = self._restart.seconds
        self._restarts = self._restart_due.last_until(self._saved_at)
        metadata, self._restart = self._restart.metadata, None
        return metadata.get(PLANNED, []), metadata.get(_BOUNDED, False)

    def keep(self, clock: Clock, *, provisional: bool = False) -> None:
        """Write output that is due now, and a restart at the end of the first step after its due time.

        clock        has the ends of the planned steps for a restart
        provisional  whether the present state is that of a provisional step, from which a run cannot continue
        """
        seconds = self._model.seconds
        for section, writer in zip(self._outputs, self._writers, strict=True):
            if section.name in self._statistics:
                self._statistics[section.name].add(seconds, self._model.view, provisional=provisional)
            elif writer.is_due(seconds):
                self._write(writer, seconds)
        restarts = self._restart_due.last_until(seconds)
        if restarts > self._restarts and self._model.steps > 0 and not provisional:
            self._restarts = restarts
            self._save(self._model.save(), clock)

    def _write(self, writer: OutputWriter, seconds: float) -> None:
        lasting = self._model.batch_limits.lasting
        views = {spec.name: self._model.view(spec.name) for spec in writer.fields}
        copy = writer.write(seconds, views, lasting=lasting > 0)
        self._lent.add(self._model.steps + lasting, partial(writer.ensure, copy))

    def release(self, *, everything: bool = False) -> None:
        """Copy pending records that the next step of the model may change, or all pending records."""
        self._lent.release(sys.maxsize if everything else self._model.steps)

    def steps_free(self, most: int) -> int:
        """Return the number of next steps, at most `most`, that require no call of this class in between.

        After :meth:`release` it is at least one, and the same on all ranks.
        """
        if any(each.is_counting for each in self._statistics.values()):
            return 1
        return self._lent.steps_free(self._model.steps, most)

    def change(self) -> None:
        """Record a change of the state between steps, after which an earlier restart of this time is outdated."""
        self._saved_at, self._is_changed = None, True
        for each in self._statistics.values():
            each.change(self._model.view)

    def stop(self, clock: Clock, left: Snapshot | None = None) -> None:
        """Write a restart of the present time, if there is none, with the ends of the planned steps.

        left  state to continue from, if it is not that of the model

        Returns when all data are written; raises errors of writing.
        """
        seconds, steps = (self._model.seconds, self._model.steps) if left is None else _time_of(left)
        if self._saved_at != seconds and (steps > 0 or self._is_changed):
            self._save(self._model.save() if left is None else left, clock)
        self._folder.wait()

    def _save(self, saved: Snapshot, clock: Clock) -> None:
        planned = {PLANNED: clock.planned} if clock.planned else {}
        metadata = {**saved.metadata, **planned, _END: clock.end, **({_BOUNDED: True} if clock.bounded else {})}
        tiled = dict(saved.tiled)
        for each in self._statistics.values():
            arrays, values = each.save()
            tiled |= arrays
            metadata |= values
        self._saved_at, _ = _time_of(saved)
        self._store.save(self._saved_at, tiled, saved.whole, metadata)

    def gather(self, *, complete: bool) -> list[Path]:
        """Write the output files of the simulated time."""
        return [writer.finish(complete=complete) for writer in self._writers]

    def written(self) -> str:
        """Return a description of the data that all ranks have written, and the overlap with computation."""
        traffic, domain = self._folder.writer.traffic, self._model.domain
        output = float(sum(writer.bytes for writer in self._writers))
        amounts = domain.total(np.array([[output, float(self._store.bytes), traffic.written, traffic.waited]]))
        output, restarts, busy, waited = amounts.tolist()
        hidden = 100.0 * max(1.0 - waited / busy, 0.0) if busy > 0.0 else 100.0
        names = ", ".join(dict.fromkeys(str(writer.strategy) for writer in self._writers))
        parts = [f"{output / 1e6:.3g} MB of output by {names}"] if self._writers else []
        parts += [f"{restarts / 1e6:.3g} MB of restarts by {self._store.strategy}"] if restarts else []
        amounts_written = " and ".join(parts) or "nothing"
        time = f"{domain.greatest(traffic.written):.2g} s"
        return f"{amounts_written} written in {time}, {hidden:.0f} % of it behind the run"

    def finish(self, summary: Report, *, complete: bool) -> None:
        """Write the summary, and close the run after its output files; an incomplete run can be resumed."""
        self._folder.write_summary(summary.to_text(), summary.to_dict())
        self._folder.finish(complete=complete)

    def abandon(self) -> None:
        """Close files on this rank; the run folder is left as after a kill."""
        self._folder.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.close()

    def _tell_beginning(self) -> list[str]:
        if not self._folder.resumed:
            return [f"{self._folder.path} has no run to resume; the run begins at its start"]
        if self._restart is None and self._store.unusable:
            return [f"the restarts in {self._folder.path} depend on the end of the earlier run; it begins at its start"]
        if self._restart is None:
            return [f"the run in {self._folder.path} ended before its first restart; it begins at its start"]
        hours = self._restart.seconds / 3600.0
        damaged = [
            f"{message}; the restart at {hours:g} h is used, and later steps are repeated"
            for message in self._restart.skipped
        ]
        changed = [f"inputs differ after {hours:g} h: {each}" for each in self._folder.changed]
        return [*damaged, *changed, f"resumed at {hours:g} h of the case"]

    def _refuse_lost_restarts(self) -> None:
        """Raise OutputError for a run with records after its first restart, and without a restart."""
        earlier, records = self._folder.earlier, self._folder.path / RECORDS
        if earlier is None or self._restart is not None or self._store.unusable:
            return
        first = to(parse_toml(earlier.case)["restart"]["every"], "s", where="restart.every")
        there = [each for each in self._outputs if (records / each.name).is_dir()]
        # A restart may be due before the last record; only the statistic "point" has a record at the start.
        last = [count_records(records / each.name) - 1 - (each.statistic == "point") for each in there]
        reached = max((number * each.every.value for number, each in zip(last, there, strict=True)), default=0.0)
        if self._folder.channel.on_root(lambda: reached > first):
            raise OutputError(
                f"the records in {records} extend to {duration(reached)}, and there is no restart in "
                f"{self._folder.path / RESTARTS}; restore a copy of one, or start again without --resume"
            )

    def _writer(self, section: OutputSection, resume_from: float | None) -> OutputWriter:
        domain = self._model.domain
        fields, case = self._model.fields.for_output(section.fields), self._case
        output = Output(
            fields, section.every.value, section.name, section.selection(), section.strategy, section.compression,
            section.statistic,
        )  # fmt: skip
        attributes = {"title": case.title, **domain.attributes, "airshed_case": case.to_toml(machine=False)}
        return OutputWriter(
            self._folder, domain.axes, output, start=case.start, attributes=attributes, resume_from=resume_from,
            box=domain.box,
        )  # fmt: skip


def _fits(end: float, metadata: Mapping[str, Any]) -> bool:
    """Return whether a run to `end` [s] has the state of a restart: an earlier end has not determined it.

    The weather of an hour that the earlier run did not complete may differ.
    """
    before = metadata.get(_END, end)
    return before >= end or (not metadata.get(_BOUNDED, False) and metadata["seconds"] <= floor(before / _HOUR) * _HOUR)


def _time_of(saved: Snapshot) -> tuple[float, int]:
    """Return the time [s] of a saved state, and the number of its last step."""
    return saved.metadata["seconds"], saved.metadata["steps"]
