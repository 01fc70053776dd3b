"""Restarts: all that a run needs to go on, bit for bit."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import guarded, part_path, publish
from airshed.core.errors import OutputError
from airshed.io.archive import load_arrays, save_arrays
from airshed.io.folder import RESTARTS, RunFolder

_KEPT: Final = 2


@dataclass(frozen=True)
class Restart:
    """The state of a run at a time since its start [s]; ``skipped`` says which newer restarts were damaged, and how."""

    seconds: float
    arrays: Mapping[str, NDArray[np.float64]]
    metadata: Mapping[str, Any]
    skipped: tuple[str, ...] = ()


class RestartStore:
    """The last two restarts of a run, in ``RUN/restart/SECONDS.npz``.

    A restart is a NumPy archive (``numpy.load`` reads it) of doubles with a CRC-32 for each array and JSON metadata.
    """

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._folder = run.path / RESTARTS
        with guarded(self._folder):
            self._folder.mkdir(exist_ok=True)

    def save(self, seconds: float, arrays: Mapping[str, NDArray[np.float64]], metadata: Mapping[str, Any]) -> None:
        """Store the state at a time since the start [s], whole or not at all.

        The content is handed to the system before this returns, which costs no copy of the state, and the arrays may
        change afterwards. That it has reached the disk, after all output written before, and takes its name, happens
        behind the run. So write the output records that are due at this time first: a run that resumes here needs
        them. Raises OutputError when it cannot be written.
        """
        path = self._folder / f"{float(seconds)!r}.npz"
        part = part_path(path)
        with guarded(path, part):
            save_arrays(part, arrays, {**metadata, "seconds": float(seconds)})
        self._run.writer.submit(partial(self._publish, part, path))

    def latest(self) -> Restart | None:
        """Return the newest restart that is whole, or None when there is none."""
        skipped: list[str] = []
        for path in reversed(self._paths()):
            try:
                arrays, metadata = load_arrays(path)
                return Restart(metadata["seconds"], arrays, metadata, tuple(skipped))
            except OutputError as error:
                skipped.append(str(error))
        return None

    def _publish(self, part: Path, path: Path) -> None:
        with guarded(path, part):
            publish(part, path)
            for old in self._paths()[:-_KEPT]:
                old.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("[!.]*.npz"), key=lambda path: float(path.stem))
