"""Restarts: the complete state for a bitwise identical continuation, on any number of ranks.

A restart holds two kinds of arrays. The first axes of *tiled* arrays are divided among ranks, so that each rank has a
box of them; *whole* arrays are the same on all ranks. Restarts are written by one of the strategies in
:mod:`airshed.io.strategies.states`, always in parts, each verified on reading; any rank can read any box from the parts
that contain it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import guarded
from airshed.core.errors import OutputError
from airshed.core.text import duration
from airshed.grid.box import Box
from airshed.io.archive import reading
from airshed.io.folder import RESTARTS, RunFolder
from airshed.io.strategies.choice import AUTO, Strategy, check_there, choose, probe_restart
from airshed.io.strategies.states import (
    FORMATS,
    GATHER,
    FolderParts,
    GatheredParts,
    GatheredStates,
    find_states,
    open_state,
    remove_state,
    state_store,
)
from airshed.io.strategies.store import covers

_KEPT: Final = 2
Array = NDArray[Any]


@dataclass(frozen=True)
class Restart:
    """State of a run at a time since its start [s].

    whole    arrays that are the same on all ranks
    skipped  reasons why newer restarts were rejected
    """

    seconds: float
    whole: Mapping[str, Array]
    metadata: Mapping[str, Any]
    skipped: tuple[str, ...]
    _parts: GatheredParts | FolderParts = field(repr=False)

    @property
    def tiled(self) -> tuple[str, ...]:
        """Names of the tiled arrays."""
        return self._parts.tiled

    def part(self, name: str, box: Box) -> Array:
        """Return a box of a tiled array, regardless of its division when written.

        Raises OutputError if the restart does not hold all of it.
        """
        if not box.ends:
            return self._parts.load(0, name)
        result: Array | None = None
        pieces = [(held, held.common(box)) for held in self._parts.boxes]
        if not covers([piece for _, piece in pieces if piece is not None], box):
            ends = ", ".join(f"{first} to {last - 1}" for first, last in box.ends)
            raise OutputError(f"the restart at {duration(self.seconds)} does not hold all of {ends}")
        for number, (held, piece) in enumerate(pieces):
            if piece is None:
                continue
            taken = piece.within(held)
            part = self._parts.rows(number, name, *taken.ends[0])
            if result is None:
                result = np.empty((*box.shape, *part.shape[len(box.ends) :]), part.dtype)
            piece.within(box).of_leading(result)[...] = part[(slice(None), *taken.slices[1:])]
        assert result is not None
        return result


class RestartStore:
    """Last two restarts of a run, in ``RUN/restart``, written by the strategy in the case.

    ``held`` are this rank's cells along the first axes of tiled arrays; without it there are no such arrays. Several
    ranks each construct a store and make the same calls. ``bytes`` counts the bytes that this rank submitted for
    writing, ``unusable`` the intact restarts that :meth:`latest` passed over.
    """

    def __init__(self, run: RunFolder, held: Box | None = None, strategy: Strategy | str = "gather:async") -> None:
        self._run, self._folder, self.bytes, self.unusable = run, run.path / RESTARTS, 0, 0
        chosen = Strategy.parse(strategy) if isinstance(strategy, str) else strategy
        with run.channel.together(), guarded(self._folder):
            self._folder.mkdir(exist_ok=True)
        held = held or Box(())
        self.measured: Mapping[str, float] = {}
        if chosen.name == AUTO:
            name, self.measured = choose(run.channel, self._folder, (GATHER, *FORMATS), partial(self._probe, held))
            chosen = replace(chosen, name=name)
        with run.channel.together():
            check_there(chosen)
        self.strategy, self._store = chosen, state_store(chosen.name, self._folder, run.channel, held)

    def save(
        self, seconds: float, tiled: Mapping[str, Array], whole: Mapping[str, Array], metadata: Mapping[str, Any]
    ) -> None:
        """Store the state at a time since the start [s], complete or not at all.

        tiled     arrays whose first axes are those of this rank's box
        whole     arrays that are the same on all ranks
        metadata  JSON content

        The arrays may change as soon as this call returns. With an asynchronous strategy they are copied and written
        in the background, after all output submitted before. The copy of a single rank that writes its own file is made
        by the system, any other one in memory. Write the output records of this time first,
        since a run that resumes here needs them.

        Raises OutputError if this restart or an earlier one cannot be written.
        """
        state = float(seconds), tiled, whole, {**metadata, "seconds": float(seconds)}
        asynchronous, store = self.strategy.asynchronous, self._store
        publish = None
        if asynchronous and isinstance(store, GatheredStates):
            with self._run.writer.counted():
                publish = store.hand_over(*state)
        size = sum(array.nbytes for array in (*tiled.values(), *whole.values()))
        self.bytes += size
        if publish is not None:
            self._run.submit(partial(self._write, publish), size, asynchronous=True)
            return
        if asynchronous:
            state = state[0], _copied(tiled), _copied(whole), state[3]
        self._run.submit(partial(self._write, partial(store.write, *state)), size, asynchronous=asynchronous)

    def latest(self, usable: Callable[[Mapping[str, Any]], bool] = lambda metadata: True) -> Restart | None:
        """Return the newest intact and usable restart, the same on all ranks, or None if there is none.

        usable  returns whether the run may continue from a restart with this metadata

        Raises OutputError if there are some and none is intact.
        """
        skipped: list[str] = []
        channel = self._run.channel
        found = channel.broadcast(find_states(self._folder) if channel.is_root else None)
        for path in reversed(found):
            try:
                with channel.together():
                    parts = open_state(path)
                    # Each part is read by one of the ranks, so that a damaged part is found before any use.
                    for number in range(channel.rank, len(parts.boxes), channel.size):
                        for name in parts.tiled:
                            parts.load(number, name)
                with channel.together(), reading(path):
                    whole, metadata = parts.shared()
                    seconds = float(metadata["seconds"])
                if not usable(metadata):
                    self.unusable += 1
                    continue
                return Restart(seconds, whole, metadata, tuple(skipped), parts)
            except OutputError as error:
                skipped.append(str(error))
        if skipped and not self.unusable:
            raise OutputError(
                f"no restart in {self._folder} is intact: {'; '.join(skipped)}. The records are unchanged: put a "
                "copy of a restart there, or restart the run without --resume"
            )
        return None

    def _probe(self, held: Box, name: str, folder: Path) -> None:
        probe_restart(state_store(name, folder, self._run.channel, held), held, self._run.channel.size)

    def _write(self, write: Callable[[], None]) -> None:
        write()
        with self._run.channel.together(), guarded(self._folder):
            if self._run.channel.is_root:
                for old in find_states(self._folder)[:-_KEPT]:
                    remove_state(old)


def _copied(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.array(array) for name, array in arrays.items()}
