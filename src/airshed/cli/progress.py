"""Shows how far a simulation is: live on a terminal, a line for each simulated hour where asked for, or nothing."""

import math
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Protocol, Self

from airshed.cli.render import on_terminal
from airshed.core.text import printable

_WIDTH: Final = 78


class StepInfo(Protocol):
    """What the simulation tells after every few steps."""

    @property
    def time(self) -> float:
        """Simulated time [s] since the start of the case; negative in the spin-up."""

    @property
    def step(self) -> int:
        """Number of steps done."""

    @property
    def dt(self) -> float:
        """Length of the last step [s]."""

    @property
    def cells_per_second(self) -> float:
        """Cells advanced by a step, per second of wall time, of late."""

    @property
    def fraction(self) -> float:
        """Part of the whole simulation that is done, 0 to 1."""


class Progress(Protocol):
    """Something that is fed with step infos between ``with`` and the end of the block."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __call__(self, info: StepInfo) -> None:
        """Take note of finished steps."""


def progress_for(start: datetime, *, quiet: bool, verbose: bool) -> Progress:
    """Return the progress display that fits standard error: elsewhere than on a terminal none, unless `verbose`."""
    if quiet:
        return Silent()
    if on_terminal("stderr"):
        return Live(start)
    return Lines(start) if verbose else Silent()


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

    def __call__(self, info: StepInfo) -> None:
        """Take note of finished steps."""


class Lines(Silent):
    """Writes at most one line for each simulated hour."""

    def __init__(
        self, start: datetime, write: Callable[[str], object] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``write`` takes a line, by default to standard error."""
        self._start, self._clock = start, clock
        self._first: tuple[float, float] | None = None
        self._write = write or (lambda line: print(line, file=sys.stderr, flush=True))
        self._hour = -math.inf

    def __call__(self, info: StepInfo) -> None:
        """Write a line when another simulated hour has passed."""
        hour = math.floor(info.time / 3600.0)
        if hour <= self._hour:
            return
        self._hour = hour
        self._first = self._first or (self._clock(), info.fraction)
        left = remaining(self._clock() - self._first[0], info.fraction - self._first[1], 1.0 - info.fraction)
        spinup = "spin-up  " if info.time < 0.0 else ""
        self._write(
            f"{instant(self._start, info.time)}  {spinup}step {info.step} ({info.dt:.4g} s)  {info.fraction:4.0%}  "
            f"{speed(info.cells_per_second)}  {left} left"
        )


class Live:
    """A bar with simulated time, step, speed and time left."""

    def __init__(self, start: datetime) -> None:
        from rich import progress
        from rich.console import Console

        self._start = start
        self._bar = progress.Progress(
            progress.TextColumn("{task.fields[now]}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.fields[pace]}"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("left"),
            console=Console(stderr=True, highlight=False, force_terminal=True),
        )
        self._task = self._bar.add_task("", total=1.0, now="preparing", pace="")
        self._phase: str | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, info: StepInfo) -> None:
        """Move the bar."""
        spinup = " (spin-up)" if info.time < 0.0 else ""
        pace = f"step {info.step} ({info.dt:.4g} s)  {speed(info.cells_per_second)}"
        now = f"{instant(self._start, info.time)}{spinup}"
        new, self._phase = spinup != self._phase, spinup  # drawn at once, however short the phase is
        self._bar.update(self._task, completed=info.fraction, now=now, pace=pace, refresh=new)


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

    def show(self, what: str) -> None:
        """Show what is being done."""
        if self._live:
            text = printable(what)[:_WIDTH]
            print(f"\r{text:<{_WIDTH}}", file=sys.stderr, end="", flush=True)
