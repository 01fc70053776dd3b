"""Progress on standard error: of a run, of an assimilation, of a sweep, of other work."""

import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from airshed.cli.render import on_terminal, say
from airshed.core.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from airshed.case.case import RunCase
    from airshed.inverse.fourdvar.minimise import Record
    from airshed.runtime.clock import StepInfo
    from airshed.sweep.runner import Progress as SweepProgress


_WIDTH: Final = 78


def progress_for(start: datetime | None, *, quiet: bool, verbose: bool) -> "Silent | Live":
    """Return the progress display that fits standard error: elsewhere than on a terminal none, unless `verbose`."""
    if quiet:
        return Silent()
    if on_terminal("stderr"):
        return Live(start)
    return Lines(start) if verbose else Silent()


def estimated_seconds(case: "RunCase") -> float | None:
    """Return the estimate of the wall time of a run [s], None for a model without one."""
    from airshed.runtime.registry import model_kind

    found = re.match(r"about (\d+) s", str(model_kind(case.model).describe(case).facts.get("time", "")))
    return float(found[1]) if found else None


def start_of(case: "RunCase") -> datetime:
    """Return the start of a case, UTC."""
    start: datetime = case.start.astype("datetime64[us]").item()
    return start


def instant(start: datetime, seconds: float) -> str:
    """Return the simulated time as text: 2022-08-31 05:12 UTC."""
    return f"{start + timedelta(seconds=seconds):%Y-%m-%d %H:%M} UTC"


def speed(cells_per_second: float) -> str:
    """Return a speed as text: 2.9 M cells/s."""
    for factor, letter in ((1e9, "G "), (1e6, "M "), (1e3, "k ")):
        if cells_per_second >= factor:
            return f"{cells_per_second / factor:.3g} {letter}cells/s"
    return f"{cells_per_second:.3g} cells/s"


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def prepare(self, case: "RunCase") -> None:
        """Show that a case is read, and its run prepared."""

    def __call__(self, info: "StepInfo") -> None:
        """Show finished steps."""


class Lines(Silent):
    """Writes at most one line for each simulated hour."""

    def __init__(
        self,
        start: datetime | None,
        write: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show lines by a function, by default on standard error.

        start  of the case; None before the case is read
        """
        self._start, self._clock = start, clock
        self._first: tuple[float, float] | None = None
        self._write = write or (lambda line: print(line, file=sys.stderr, flush=True))
        self._hour = -math.inf

    def prepare(self, case: "RunCase") -> None:
        """Set the start of the case."""
        self._start = start_of(case)

    def __call__(self, info: "StepInfo") -> None:
        """Write a line when another simulated hour has passed."""
        hour = math.floor(info.time / 3600.0)
        if hour <= self._hour:
            return
        self._hour = hour
        self._first = self._first or (self._clock(), info.fraction)
        left = remaining(self._clock() - self._first[0], info.fraction - self._first[1], 1.0 - info.fraction)
        spinup = "spin-up  " if info.time < 0.0 else ""
        now = "" if self._start is None else instant(self._start, info.time)
        self._write(
            f"{now}  {spinup}step {info.step} ({info.dt:.4g} s)  {info.fraction:4.0%}  "
            f"{speed(info.cells_per_second)}  {left} left"
        )


class Live:
    """A bar with simulated time, step, speed and time left."""

    def __init__(self, start: datetime | None) -> None:
        self._start = start
        self._bar = _bar()
        self._task = self._bar.add_task("", total=1.0, now="reading the case", pace="", estimate=None)
        self._phase: str | None = None

    def prepare(self, case: "RunCase") -> None:
        """Show that the run is prepared, and an estimate of the time that it takes."""
        self._start = start_of(case)
        self._bar.update(self._task, now="preparing", estimate=estimated_seconds(case), refresh=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.live.transient = self._phase is None  # without a step nothing is left of it
        self._bar.stop()

    def __call__(self, info: "StepInfo") -> None:
        """Move the bar."""
        spinup = " (spin-up)" if info.time < 0.0 else ""
        pace = f"step {info.step} ({info.dt:.4g} s)  {speed(info.cells_per_second)}"
        now = f"{instant(self._start, info.time)}{spinup}" if self._start is not None else ""
        new, self._phase = spinup != self._phase, spinup  # drawn at once, however short the phase is
        self._bar.update(self._task, completed=info.fraction, now=now, pace=pace, refresh=new)


class Work(Silent):
    """A bar for other work: the present part, the fraction done and the time left; nothing outside of a terminal."""

    def __init__(self, now: str, *, quiet: bool, estimate: float | None = None) -> None:
        """Show `now` until the first call; `estimate` is the time that all takes [s], if known."""
        self.is_shown = not quiet and on_terminal("stderr")
        if self.is_shown:
            self._bar = _bar()
            self._task = self._bar.add_task("", total=1.0, now=now, pace="", estimate=estimate)

    def __enter__(self) -> Self:
        if self.is_shown:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_shown:
            self._bar.live.transient = True
            self._bar.stop()

    def show(self, now: str, done: float) -> None:
        """Show the present part of the work, and the fraction of the whole that is done."""
        if self.is_shown:
            self._bar.update(self._task, now=now, completed=done)


def _bar() -> "Progress":
    """Return a bar on standard error: the present part, the fraction done, the speed and the time left."""
    from rich import progress
    from rich.console import Console
    from rich.table import Column
    from rich.text import Text

    class TimeLeft(progress.ProgressColumn):
        """Time left: by the speed so far, before the first step by an estimate, otherwise the time elapsed."""

        def render(self, task: progress.Task) -> Text:
            elapsed, estimate = task.elapsed or 0.0, task.fields["estimate"]
            if task.completed:
                left = task.time_remaining
                return Text("-:--:-- left" if left is None else f"{_clock(left)} left")
            return Text(
                f"about {_clock(max(estimate - elapsed, 1.0))} left" if estimate else f"{_clock(elapsed)} elapsed"
            )

    return progress.Progress(
        progress.TextColumn("{task.fields[now]}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[pace]}"),
        TimeLeft(Column(no_wrap=True)),
        console=Console(stderr=True, highlight=False, force_terminal=True),
    )


def _clock(seconds: float) -> str:
    """Return a duration such as 0:01:20."""
    return str(timedelta(seconds=round(seconds)))


def remaining(elapsed: float, done: float, left: float) -> str:
    """Return the wall time left as text, when ``done`` of the work took ``elapsed`` seconds and ``left`` is left."""
    return str(timedelta(seconds=round(elapsed * left / done))) if done > 0.0 else "?"


class Activity:
    """A line on standard error that each new activity replaces; nothing where that is no terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._live = not quiet and on_terminal("stderr")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            print(f"\r{'':<{_WIDTH}}\r", file=sys.stderr, end="", flush=True)

    def show(self, activity: str) -> None:
        """Show the present activity."""
        if self._live:
            text = printable(activity)[:_WIDTH]
            print(f"\r{text:<{_WIDTH}}", file=sys.stderr, end="", flush=True)


class StoppedError(Exception):
    """Ctrl-C was pressed."""


class Iterations:
    """Prints iterations of an assimilation, and on a terminal the progress of its runs; ends it on request."""

    def __init__(self, *, quiet: bool, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Show iterations, of which there are at most a number."""
        self.quiet, self.done = quiet, "no further iteration"
        self._live, self._stop, self._shown = not quiet and on_terminal("stderr"), False, ""
        self._headed, self._most, self._clock = False, most, clock
        self._seen: list[tuple[int, float]] = []  # number and time of the first and the last iteration

    def request_stop(self) -> None:
        """Stop at the next call."""
        self._stop = True

    def progress(self, part: str, done: float) -> None:
        """Show how far a run is; raises StoppedError after a request to stop."""
        if self._stop:
            raise StoppedError
        text = f"  {self._phase()}: {part} {done:4.0%}{self._left()}"
        if self._live and text != self._shown:
            self._shown = text
            print(f"\r{text[:_WIDTH]:<{_WIDTH}}", file=sys.stderr, end="", flush=True)

    def _phase(self) -> str:
        """Return the number of the iteration, or after the last one the parts of the analysis that follow."""
        number = self._seen[-1][0] + 1 if self._seen else 0
        if number > self._most:
            return "spread of the analysis, and withheld observations"
        return f"iteration {number} of at most {self._most}"

    def _left(self) -> str:
        """Return the time that all iterations take at most, at the pace so far; "" before the second one."""
        if len(self._seen) < 2 or self._seen[-1][0] >= self._most:
            return ""
        (first, began), (last, now) = self._seen
        left = (self._most - last) * (now - began) / (last - first) - (self._clock() - now)
        return f", at most {_clock(max(left, 1.0))} left"

    def see(self, record: "Record") -> None:
        """Print the line of an iteration."""
        self.done = f"iteration {record.iteration}"
        self._seen = [*self._seen[:1], (record.iteration, self._clock())]
        self.wipe()
        if self.quiet:
            return
        if not self._headed:
            say(f"{'iteration':>9}  {'J':>11}  " + "  ".join(f"{'J ' + name:>14}" for name in record.parts)
                + f"  {'|grad J|':>10}  {'runs':>4}")  # fmt: skip
            self._headed = True
        parts = "  ".join(f"{value:14.6g}" for value in record.parts.values())
        last = f"{record.gradient_norm:10.4g}  {record.evaluations:4d}"
        say(f"{record.iteration:9d}  {record.cost:11.6g}  {parts}  {last}")

    def wipe(self) -> None:
        """Erase the line of a run."""
        if self._live and self._shown:
            print(f"\r{'':<{_WIDTH}}\r", file=sys.stderr, end="", flush=True)
            self._shown = ""


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Callable[["SweepProgress"], None]]:
    """Yield the callback that shows the progress of a sweep."""
    if quiet:
        yield lambda progress: None
    elif on_terminal("stderr"):
        with _sweep_bar() as show:
            yield show
    else:
        yield _sweep_lines()


def words(progress: "SweepProgress") -> str:
    """Return the progress in words: ``3 of 12 members done, 0 failed, 2 running, 0:01:20 left``."""
    left = "" if progress.seconds_left is None else f", {timedelta(seconds=round(progress.seconds_left))} left"
    counts = f"{progress.done} of {progress.total} members done, {progress.failed} failed"
    return f"{counts}, {progress.running} running{left if progress.running else ''}"


def _sweep_lines() -> Callable[["SweepProgress"], None]:
    """Return a callback that prints a line when the number of ended members changes."""
    last: list[tuple[int, int]] = []

    def show(progress: "SweepProgress") -> None:
        ended = progress.done, progress.failed
        if last != [ended]:
            last[:] = [ended]
            say(f"airshed: {words(progress)}", err=True)

    return show


@contextmanager
def _sweep_bar() -> Iterator[Callable[["SweepProgress"], None]]:
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True, highlight=False, force_terminal=True)
    with rich.Progress(rich.BarColumn(), rich.TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("preparing", total=1.0)

        def show(progress: "SweepProgress") -> None:
            ended = (progress.done + progress.failed) / progress.total
            bar.update(task, completed=ended, description=words(progress))

        yield show
