"""The folder of a command's results: made, and tried, before anything costly is done."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from airshed.cli.first_rank import is_first, on_first


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Let the first rank make the folder and see that it can be written to, before anything costly is done.

    A run that is refused in the block leaves no empty folders. Raises OutputError on all ranks.
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
