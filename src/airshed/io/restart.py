"""Restarts: all that a run needs to continue with the same bits, on any number of ranks.

A restart holds two kinds of arrays: *tiled* ones, whose first axes ranks divide, so that each has a box of them, and
*whole* ones that are the same on all ranks. It is written by one of the strategies in
:mod:`airshed.io.strategies.states`, always in parts, each checked when it is read; any rank reads any box out of the
parts that hold it.
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
    """The state of a run at a time since its start [s].

    whole    the arrays that are the same on all ranks
    skipped  says which newer restarts were damaged, and how
    """

    seconds: float
    whole: Mapping[str, Array]
    metadata: Mapping[str, Any]
    skipped: tuple[str, ...]
    _parts: GatheredParts | FolderParts = field(repr=False)

    @property
    def tiled(self) -> tuple[str, ...]:
        """The names of the arrays that were held in tiles."""
        return self._parts.tiled

    def part(self, name: str, box: Box) -> Array:
        """Return a box of a tiled array, however it was cut when it was written.

        Raises OutputError if the restart does not hold all of it.
        """
        if not box.ends:
            return self._parts.load(0, name)
        result: Array | None = None
        pieces = [(held, held.common(box)) for held in self._parts.boxes]
        if not covers([piece for _, piece in pieces if piece is not None], box):
            ends = ", ".join(f"{first} to {last - 1}" for first, last in box.ends)
            raise OutputError(f"the restart at {self.seconds:g} s does not hold all of {ends}")
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
    """The last two restarts of a run, in ``RUN/restart``, written by a strategy of the case's choice.

    ``held`` is what this rank has of the first axes of tiled arrays; with several ranks each makes a store and the same
    calls. Without it there are no such arrays. ``bytes`` counts what this rank gave to be written.
    """

    def __init__(self, run: RunFolder, held: Box | None = None, strategy: Strategy | str = "gather:async") -> None:
        self._run, self._folder, self.bytes = run, run.path / RESTARTS, 0
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
        """Store the state at a time since the start [s], whole or not at all.

        tiled     arrays whose first axes are those of this rank's box
        whole     arrays that are the same on all ranks
        metadata  what JSON can hold
        The arrays may change as soon as this returns. With an asynchronous strategy they are copied, to the system
        where one rank gathers its own and else in memory, and written behind the run, after all output submitted
        before: so write the output records that are due at this time first, since a run that resumes here needs them.
        Raises OutputError when it cannot be written, or an earlier one could not.
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

    def latest(self) -> Restart | None:
        """Return the newest restart that is whole, the same on all ranks, or None where none was written.

        Raises OutputError where there are some and none is whole.
        """
        skipped: list[str] = []
        channel = self._run.channel
        found = channel.broadcast(find_states(self._folder) if channel.is_root else None)
        for path in reversed(found):
            try:
                with channel.together():
                    parts = open_state(path)
                    # Each part is read by one of the ranks, so that a damaged one is found before anything is used.
                    for number in range(channel.rank, len(parts.boxes), channel.size):
                        for name in parts.tiled:
                            parts.load(number, name)
                with channel.together(), reading(path):
                    whole, metadata = parts.shared()
                    seconds = float(metadata["seconds"])
                return Restart(seconds, whole, metadata, tuple(skipped), parts)
            except OutputError as error:
                skipped.append(str(error))
        if skipped:
            raise OutputError(
                f"no restart in {self._folder} is whole: {'; '.join(skipped)}. The records stay as they are: put a "
                "copy of a restart there, or run anew without --resume"
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
