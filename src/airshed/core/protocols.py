"""Where layers meet: what the runtime asks of a model, whatever it simulates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from airshed.core.report import Report

Array = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]


class Saved(Protocol):
    """What a model needs to go on with the same bits, as it was saved or as a restart holds it.

    whole     arrays that are the same on all ranks
    metadata  plain values
    """

    @property
    def whole(self) -> Mapping[str, AnyArray]:
        """Arrays that are the same on all ranks."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Plain values."""
        ...

    def tile(self, name: str, rows: tuple[int, int], blocks: tuple[int, int]) -> AnyArray:
        """The rows and blocks, first <= n < last, of an array [row][block][...] that ranks share."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """The state of a model in memory: that of this rank's tile, and what all ranks have alike; satisfies Saved."""

    tiled: Mapping[str, AnyArray]
    whole: Mapping[str, AnyArray]
    metadata: Mapping[str, Any]

    def tile(self, name: str, rows: tuple[int, int], blocks: tuple[int, int]) -> AnyArray:
        """The array of the tile, which must be this one."""
        return self.tiled[name]


Levels = slice | Sequence[int]
"""Indices of layers, from the ground up."""


@runtime_checkable
class FieldView(Protocol):
    """A field (level, lat, lon) where a model holds it, in an order of its own; see :meth:`Model.view`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels, rows and columns."""
        ...

    def copy_to(self, target: npt.NDArray[np.float32], levels: Levels) -> None:
        """Fill an array (level, lat, lon) of some levels with the values as 32-bit floats."""
        ...


class Model(Protocol):
    """A simulated system that advances in steps and knows nothing of files, clocks on the wall, or users.

    What a run on ranks with files asks of it beside that is in :class:`airshed.runtime.model.GriddedModel`. Times are
    seconds since the start of the case; before it they are negative.
    """

    @property
    def seconds(self) -> float:
        """The time that the state belongs to."""
        ...

    @property
    def steps(self) -> int:
        """The number of steps since the start; a restart brings it back."""
        ...

    @property
    def cells(self) -> int:
        """The number of cells that a step advances, of all ranks."""
        ...

    def next_change(self) -> float:
        """The next time at which the forcing bends or jumps, so that a step must end there; infinity if never."""
        ...

    def longest_step(self, until: float) -> float:
        """The longest stable step [s] from now to `until`, which lies no later than :meth:`next_change`."""
        ...

    def step_to(self, seconds: float) -> None:
        """Advance the state by one step that ends at this time; all ranks do so together."""
        ...

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance the state by steps that end at these rising times, with the bits of :meth:`step_to` for each.

        The last one lies no later than :meth:`next_change`. All ranks do so together, and nobody looks in between.
        """
        ...

    @property
    def at_once(self) -> int:
        """How many steps :meth:`step_through` may be asked for at once, at least 1; the same on all ranks."""
        ...

    def value(self, name: str) -> Array:
        """A field of the model by its registered name, in its registered unit."""
        ...

    def view(self, name: str) -> FieldView | Array:
        """A field as :meth:`value` gives it, but not copied: it stays as it is for :attr:`lasting` more steps."""
        ...

    @property
    def lasting(self) -> int:
        """How many further steps leave what :meth:`view` gives as it is; 0 where the next step may change it."""
        ...

    def save(self) -> Snapshot:
        """All that :meth:`restore` needs to go on with the same bits; its arrays are the model's own."""
        ...

    def restore(self, saved: Saved) -> None:
        """Take over a saved state."""
        ...

    def summary(self, *, brief: bool = False) -> Report:
        """What happened so far: budgets, extremes, where the input came from; `brief` for a screen, else all of it."""
        ...

    def close(self) -> None:
        """End the model's threads and give its files free."""
        ...
