"""Work of the first of several ranks: there is one terminal, and one folder of results."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def is_first() -> bool:
    """Return whether this is the first rank, or the only one."""
    from airshed.parallel.communicator import world

    return world().rank == 0


def on_first(work: Callable[[], T]) -> T:
    """Call a function on the first rank while the others wait; return its result, or raise its error, on all."""
    from airshed.io.channel import Channel
    from airshed.parallel.communicator import world

    channel = Channel(world())
    try:
        result = channel.on_root(work)
    except Exception:  # of all ranks; an interrupt may be of this one alone, and to close is for all together
        channel.close()
        raise
    channel.close()
    return result


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Create a folder on the first rank and check that it is writable, before any costly work.

    A run that is refused in the block leaves no empty folders behind. Raises OutputError on all ranks.
    """
    made = on_first(partial(_make, folder))
    try:
        yield
    except BaseException:
        for path in made if is_first() else []:
            with suppress(OSError):  # it is not empty
                path.rmdir()
        raise


def _make(folder: Path) -> list[Path]:
    """Make a folder that can be written to, and return the folders that were not there, itself first."""
    from airshed.core.atomic import guarded, part_path

    probe, made = part_path(folder / "probe"), [path for path in (folder, *folder.parents) if not path.exists()]
    with guarded(folder, probe):
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    return made
