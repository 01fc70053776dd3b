"""Brings arrays from the boxes of cells that ranks hold to boxes that ranks are to write.

The divided axes of each array are cut: the last ones of a field such as (level, lat, lon), the first ones of a state
such as [lat][block][...]. A box that a rank holds already moves nowhere; what else meets travels in one message for
each pair of boxes, all arrays together, as they are in memory.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airshed.grid.box import Box
from airshed.io.channel import Bytes, Channel

Arrays = Mapping[str, NDArray[Any]]


class Regrouping:
    """A move of named arrays between two ways to cut a grid.

    sources  what each rank holds, by rank
    targets  (rank, box) of what is to be put together, and where
    leading  whether the boxes lie in the first axes, not in the last ones
    """

    def __init__(
        self,
        channel: Channel,
        sources: Sequence[Box],
        targets: Sequence[tuple[int, Box]],
        *,
        leading: bool = False,
    ) -> None:
        self._channel, self._sources, self._leading = channel, sources, leading
        self._targets = targets

    def move(self, arrays: Arrays) -> list[dict[str, NDArray[Any]]]:
        """Return the arrays of this rank's targets, in their order; every rank calls it.

        A target that is exactly the box of this rank is returned without a copy.
        """
        rank, held = self._channel.rank, self._sources[self._channel.rank]
        results: list[dict[str, NDArray[Any]]] = []
        sends: list[tuple[int, Bytes]] = []
        arrivals: list[tuple[int, Bytes, Box, dict[str, NDArray[Any]]]] = []
        for owner, target in self._targets:
            part = held.common(target)
            if owner != rank:
                if part is not None:
                    sends.append((owner, self._packed(arrays, part.within(held))))
                continue
            if held == target:
                results.append(dict(arrays))
                continue
            result = {name: self._empty(array, target) for name, array in arrays.items()}
            results.append(result)
            if part is not None:
                for name, array in arrays.items():
                    self._cut(result[name], part.within(target))[...] = self._cut(array, part.within(held))
            arrivals += self._arrivals(arrays, target, result)
        self._channel.exchange(sends, [(source, buffer) for source, buffer, _, _ in arrivals])
        for _, buffer, place, result in arrivals:
            self._unpack(buffer, place, result)
        return results

    def _arrivals(
        self, arrays: Arrays, target: Box, result: dict[str, NDArray[Any]]
    ) -> list[tuple[int, Bytes, Box, dict[str, NDArray[Any]]]]:
        """Return for each other rank that holds a part of a target: the rank, a buffer, the part's place."""
        arrivals = []
        for source, box in enumerate(self._sources):
            part = box.common(target)
            if part is not None and source != self._channel.rank:
                place = part.within(target)
                size = sum(self._cut(result[name], place).nbytes for name in arrays)
                arrivals.append((source, np.empty(size, np.uint8), place, result))
        return arrivals

    def _cut(self, array: NDArray[Any], box: Box) -> NDArray[Any]:
        return box.of_leading(array) if self._leading else box.of(array)

    def _empty(self, array: NDArray[Any], box: Box) -> NDArray[Any]:
        if self._leading:
            return np.empty((*box.shape, *array.shape[len(box.shape) :]), array.dtype)
        return np.empty((*box.undivided(array.shape), *box.shape), array.dtype)

    def _packed(self, arrays: Arrays, box: Box) -> Bytes:
        parts = [np.ascontiguousarray(self._cut(array, box)).reshape(-1).view(np.uint8) for array in arrays.values()]
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)

    def _unpack(self, buffer: Bytes, box: Box, result: dict[str, NDArray[Any]]) -> None:
        at = 0
        for array in result.values():
            part = self._cut(array, box)
            part[...] = buffer[at : at + part.nbytes].view(array.dtype).reshape(part.shape)
            at += part.nbytes


def covers(boxes: Sequence[Box], whole: Box) -> bool:
    """Say whether boxes hold each cell of the whole just once."""
    if any(box.common(whole) != box for box in boxes):
        return False
    count = np.zeros(whole.shape, np.int64)
    for box in boxes:
        box.within(whole).of(count)[...] += 1
    return bool((count == 1).all())
