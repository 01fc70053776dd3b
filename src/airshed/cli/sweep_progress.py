"""Progress of a sweep: live on a terminal, else a line for each ended member."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from airshed.cli.render import on_terminal, say

if TYPE_CHECKING:
    from airshed.sweep.runner import Progress


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Callable[["Progress"], None]]:
    """Yield the callback that shows the progress of a sweep."""
    if quiet:
        yield lambda progress: None
    elif on_terminal("stderr"):
        with _bar() as show:
            yield show
    else:
        yield _lines()


def words(progress: "Progress") -> str:
    """Return the progress in words: ``3 of 12 members done, 0 failed, 2 running, 0:01:20 left``."""
    left = "" if progress.seconds_left is None else f", {timedelta(seconds=round(progress.seconds_left))} left"
    counts = f"{progress.done} of {progress.total} members done, {progress.failed} failed"
    return f"{counts}, {progress.running} running{left if progress.running else ''}"


def _lines() -> Callable[["Progress"], None]:
    """Return a callback that prints a line when the number of ended members changes."""
    last: list[tuple[int, int]] = []

    def show(progress: "Progress") -> None:
        ended = progress.done, progress.failed
        if last != [ended]:
            last[:] = [ended]
            say(f"airshed: {words(progress)}", err=True)

    return show


@contextmanager
def _bar() -> Iterator[Callable[["Progress"], None]]:
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True, highlight=False, force_terminal=True)
    with rich.Progress(rich.BarColumn(), rich.TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("preparing", total=1.0)

        def show(progress: "Progress") -> None:
            ended = (progress.done + progress.failed) / progress.total
            bar.update(task, completed=ended, description=words(progress))

        yield show
