"""The folder of a command's results: made, and tried, before anything costly is done."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Let the first rank make the folder and see that it can be written to, before anything costly is done.

    A run that is refused in the block leaves no empty folders. Raises OutputError on all ranks.
    """
    from airshed.io.channel import Channel
    from airshed.parallel.communicator import world

    with closing(Channel(world())) as channel:
        made = channel.on_root(partial(_make, folder))
        is_root = channel.is_root
    try:
        yield
    except BaseException:
        for path in made if is_root else []:
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
