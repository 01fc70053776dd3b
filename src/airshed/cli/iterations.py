"""Tells the iterations of an assimilation as they come."""

import sys
from typing import TYPE_CHECKING

from airshed.cli.render import on_terminal, say

if TYPE_CHECKING:
    from airshed.inverse.fourdvar.minimise import Record


class StoppedError(Exception):
    """Ctrl-C was pressed."""


class Iterations:
    """Tells iterations as they come, and between them on a terminal how far a run is; ends it when asked to."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet, self.done = quiet, "no further iteration"
        self._live, self._stop, self._shown = not quiet and on_terminal("stderr"), False, ""
        self._headed = False

    def request_stop(self) -> None:
        """End at the next occasion."""
        self._stop = True

    def progress(self, part: str, done: float) -> None:
        """Show how far a run is; raises where an end was asked for."""
        if self._stop:
            raise StoppedError
        text = f"  {part} {done:4.0%}"
        if self._live and text != self._shown:
            self._shown = text
            print(f"\r{text:<20}", file=sys.stderr, end="", flush=True)

    def see(self, record: "Record") -> None:
        """Print the line of an iteration."""
        self.done = f"iteration {record.iteration}"
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
        """Take the line of a run away."""
        if self._live and self._shown:
            print(f"\r{'':<20}\r", file=sys.stderr, end="", flush=True)
            self._shown = ""
