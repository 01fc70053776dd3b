"""Brings arrays from the rectangles of columns that ranks hold to rectangles that ranks are to write.

Two axes of each array are cut into rectangles: the last two of a field (level, lat, lon), the first two of a packed
state [lat][block][...]. A rectangle that a rank holds already moves nowhere; what else meets travels in one message for
each pair of rectangles, all arrays together, as they are in memory.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airshed.grid.window import Window
from airshed.io.channel import Bytes, Channel

Arrays = Mapping[str, NDArray[Any]]


class Regrouping:
    """A move of named arrays between two ways to cut a grid.

    sources  what each rank holds, by rank
    targets  (rank, rectangle) of what is to be put together, and where
    leading  whether the rectangles lie in the first two axes, not in the last two
    """

    def __init__(
        self,
        channel: Channel,
        sources: Sequence[Window],
        targets: Sequence[tuple[int, Window]],
        *,
        leading: bool = False,
    ) -> None:
        self._channel, self._sources, self._leading = channel, sources, leading
        self._targets = targets

    def move(self, arrays: Arrays) -> list[dict[str, NDArray[Any]]]:
        """Return the arrays of this rank's targets, in their order; every rank calls it.

        A target that is just what this rank holds is given back as it is, not copied.
        """
        rank, held = self._channel.rank, self._sources[self._channel.rank]
        results: list[dict[str, NDArray[Any]]] = []
        sends: list[tuple[int, Bytes]] = []
        arrivals: list[tuple[int, Bytes, Window, dict[str, NDArray[Any]]]] = []
        for owner, target in self._targets:
            part = common(held, target)
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
        self, arrays: Arrays, target: Window, result: dict[str, NDArray[Any]]
    ) -> list[tuple[int, Bytes, Window, dict[str, NDArray[Any]]]]:
        """Return for each other rank that holds a part of a target: the rank, a buffer, the part's place."""
        arrivals = []
        for source, window in enumerate(self._sources):
            part = common(window, target)
            if part is not None and source != self._channel.rank:
                place = part.within(target)
                size = sum(self._cut(result[name], place).nbytes for name in arrays)
                arrivals.append((source, np.empty(size, np.uint8), place, result))
        return arrivals

    def _cut(self, array: NDArray[Any], window: Window) -> NDArray[Any]:
        return array[window.rows, window.columns] if self._leading else window.of(array)

    def _empty(self, array: NDArray[Any], window: Window) -> NDArray[Any]:
        shape = (*window.shape, *array.shape[2:]) if self._leading else (*array.shape[:-2], *window.shape)
        return np.empty(shape, array.dtype)

    def _packed(self, arrays: Arrays, window: Window) -> Bytes:
        parts = [np.ascontiguousarray(self._cut(array, window)).reshape(-1).view(np.uint8) for array in arrays.values()]
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)

    def _unpack(self, buffer: Bytes, window: Window, result: dict[str, NDArray[Any]]) -> None:
        at = 0
        for array in result.values():
            part = self._cut(array, window)
            part[...] = buffer[at : at + part.nbytes].view(array.dtype).reshape(part.shape)
            at += part.nbytes


def common(one: Window, other: Window) -> Window | None:
    """Return the cells that two windows share; None where there are none."""
    south, north = max(one.south, other.south), min(one.north, other.north)
    west, east = max(one.west, other.west), min(one.east, other.east)
    return Window(south, north, west, east) if south < north and west < east else None


def covers(windows: Sequence[Window], whole: Window) -> bool:
    """Say whether windows hold each cell of the whole just once."""
    if any(common(window, whole) != window for window in windows):
        return False
    count = np.zeros(whole.shape, np.int64)
    for window in windows:
        window.within(whole).of(count)[...] += 1
    return bool((count == 1).all())
