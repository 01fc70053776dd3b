"""A folder that all ranks make together, whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airshed.core.atomic import guarded, sync
from airshed.core.errors import OutputError
from airshed.io.channel import Channel


@contextmanager
def made_together(channel: Channel, path: Path) -> Iterator[Path]:
    """Yield a temporary folder, the same on all ranks, which gets the name ``path`` at the end of the block.

    What the block does must fail on all ranks alike, or on none; then the folder is removed, and what was under
    ``path`` stays. Raises OutputError for whatever the system refuses.
    """
    made = path.with_name(f".{path.name}.part")
    with channel.together(), guarded(path):
        if channel.is_root:
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
    try:
        yield made
        with channel.together(), guarded(path):
            if channel.is_root:
                shutil.rmtree(path, ignore_errors=True)
                os.replace(made, path)
                sync(path.parent)
    except OutputError:
        if channel.is_root:
            shutil.rmtree(made, ignore_errors=True)
        raise
