"""Progress bars of long calls in IPython: HTML in a notebook, one line on standard error in a terminal."""

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from html import escape
from types import TracebackType
from typing import Any, Final, Self, TextIO

DELAY: Final = 1.0
"""Wall time [s] before a bar appears, so that short calls leave no trace."""

INTERVAL: Final = 0.3
"""Least wall time [s] between two updates."""

_WIDTH: Final = 78

Show = Callable[[float, str], None]
"""Receives the completed part, 0 to 1, and a label of the task."""


class ProgressBar:
    """A progress bar in IPython. Elsewhere its calls do nothing.

    Parameters
    ----------
    enabled
        Whether this process displays: False on other ranks than the first, and for a call with a callback of its own.
    clock
        Returns wall time [s].
    stream
        Stream of the line in a terminal, by default standard error.
    """

    def __init__(
        self, *, enabled: bool = True, clock: Callable[[], float] = time.monotonic, stream: TextIO | None = None
    ) -> None:
        shell = _shell() if enabled else None
        self._clock, self._stream = clock, stream
        self._is_active, self._is_notebook = shell is not None, hasattr(shell, "kernel")
        self._handle: Any = None
        self._start = self._last = clock()
        self._is_shown, self._label = False, ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_shown:
            elapsed = timedelta(seconds=round(self._clock() - self._start))
            self._draw(1.0 if error is None else None, f"{'done' if error is None else 'stopped'} after {elapsed}")
            if not self._is_notebook:
                print(file=self._stream or sys.stderr, flush=True)

    def __call__(self, done: float, label: str) -> None:
        """Show the completed part, 0 to 1, unless the last update was less than ``INTERVAL`` ago."""
        now = self._clock()
        if not self._is_active or now - self._start < DELAY or (self._is_shown and now - self._last < INTERVAL):
            return
        left = f", {timedelta(seconds=round((now - self._start) * (1.0 - done) / done))} left" if done > 0.0 else ""
        self._last, self._is_shown = now, True
        self._draw(done, f"{done:4.0%}  {label}{left}")

    def _draw(self, done: float | None, text: str) -> None:
        """Replace the bar; without a completed part show only the text."""
        if self._is_notebook:
            bar = "" if done is None else f'<progress value="{done:.3f}" max="1" style="width: 20em"></progress> '
            self._show_html(f"<div>{bar}{escape(text)}</div>")
        else:
            print(f"\r{text[:_WIDTH]:<{_WIDTH}}", file=self._stream or sys.stderr, end="", flush=True)

    def _show_html(self, html: str) -> None:
        display = sys.modules["IPython"].display
        if self._handle is None:
            self._handle = display.display(display.HTML(html), display_id=True)
        else:
            self._handle.update(display.HTML(html))


def _shell() -> Any:
    """Return the shell of IPython in which this process runs, None where there is none."""
    module: Any = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()
