"""The interface between the runtime and a model: fifteen members, with defaults for most of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Protocol

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.core.fields import FieldRegistry, FieldView
from airshed.core.report import Report
from airshed.grid.box import Box
from airshed.parallel.domain import Domain

Arrays = Mapping[str, AnyArray]

CASE_HASH: Final = "case_hash"
"""Where a snapshot that a simulation gives holds the fingerprint of its case: another one may take it over."""


class SavedState(Protocol):
    """All that a model needs to continue with the same bits, as it was saved or as a restart holds it.

    whole     arrays that are the same on all ranks
    metadata  plain values
    """

    @property
    def whole(self) -> Arrays:
        """Arrays that are the same on all ranks."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Plain values."""
        ...

    def part(self, name: str, box: Box) -> AnyArray:
        """The part of a tiled array: a box of its first axes."""
        ...


OPTIONAL_PREFIX: Final = "beside."
"""What names of arrays begin with that another case need not have: what was set, and what the last step showed."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a model in memory; satisfies SavedState.

    tiled     arrays whose first axes are those of the rank's :attr:`Domain.held`
    whole     arrays that are the same on all ranks
    metadata  what JSON can hold; "seconds" and "steps" are among it
    """

    tiled: Arrays
    whole: Arrays
    metadata: Mapping[str, Any]

    def part(self, name: str, box: Box) -> AnyArray:
        """The array of this rank, whose box it must be."""
        return self.tiled[name]

    def copied(self) -> "Snapshot":
        """Return a copy that the next steps do not change."""
        return Snapshot(_copies(self.tiled), _copies(self.whole), dict(self.metadata))


def _copies(arrays: Arrays) -> dict[str, AnyArray]:
    return {name: np.array(array) for name, array in arrays.items()}


@dataclass(frozen=True)
class BatchLimits:
    """How a model likes to be advanced.

    batch    the most steps in one call of :meth:`Model.step_through`, at least 1; the same on all ranks
    lasting  how many further steps leave the arrays of :meth:`Model.view` unchanged; 0 if the next step may change them
    """

    batch: int = 1
    lasting: int = 0


@dataclass(frozen=True)
class Timings:
    """Wall time [s] of the parts of all steps so far; of parallel parts the mean over threads.

    waiting  the parts in which a rank does not compute
    notes    remarks on these times
    """

    parts: Mapping[str, float] = field(default_factory=dict)
    waiting: Collection[str] = ()
    notes: Sequence[str] = ()


class Model(Protocol):
    """A simulated system that advances in steps and knows nothing of files, clocks on the wall, or users.

    Times are seconds since the start of the case; before it they are negative. All ranks call everything together.
    """

    @property
    def domain(self) -> Domain:
        """Coordinates, ranks, and the part of this rank."""
        ...

    @property
    def fields(self) -> FieldRegistry:
        """The available fields, with their dimensions and units."""
        ...

    @property
    def seconds(self) -> float:
        """The time of the state."""
        ...

    @property
    def steps(self) -> int:
        """The number of steps since the start, also of a resumed run."""
        ...

    @property
    def batch_limits(self) -> BatchLimits:
        """The size of a step batch, and how long views last."""
        ...

    def next_change(self) -> float:
        """The next time at which the forcing bends or jumps, so that a step must end there; infinity if never."""
        ...

    def longest_step(self, until: float) -> float:
        """The longest stable step [s] from now to `until`, which lies no later than :meth:`next_change`."""
        ...

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance the state by a batch of steps that end at these rising times, with the bits of one call for each.

        The last one lies no later than :meth:`next_change`.
        """
        ...

    def view(self, name: str) -> FieldView | AnyArray:
        """A view of this rank's part of a field, unchanged for ``batch_limits.lasting`` more steps."""
        ...

    def set(self, name: str, value: object) -> None:
        """Change a field that its registry says is settable, before the next step; raises CaseError.

        value  an array of the whole domain or a number, in the unit of the field, or a text with a unit; the same on
               all ranks
        """
        ...

    def save(self) -> Snapshot:
        """The state that :meth:`restore` needs for the same bits; its arrays are the model's own, until copied."""
        ...

    def restore(self, saved: SavedState) -> None:
        """Take over a saved state."""
        ...

    def summary(self, *, brief: bool = False) -> Report:
        """What happened so far; `brief` for a screen, else all of it."""
        ...

    def timings(self) -> Timings:
        """The wall time of the parts of steps."""
        ...

    def close(self) -> None:
        """End the model's threads and close its files."""
        ...


class PlainModel:
    """A base class for simple models: no forcing, single steps.

    A model adds `domain`, `fields`, `longest_step`, `step_to`, `view`, `save` and `restore`. The two last ones save and
    restore the time by :meth:`_moment` and :meth:`_set_moment`.
    """

    batch_limits = BatchLimits()

    def __init__(self) -> None:
        self.seconds, self.steps = 0.0, 0

    def next_change(self) -> float:
        """The next time at which the forcing bends or jumps."""
        return inf

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance step by step."""
        for end in ends:
            self.step_to(end)
            self.seconds, self.steps = end, self.steps + 1

    def step_to(self, seconds: float) -> None:
        """Advance the state from `self.seconds` to a time."""
        raise NotImplementedError

    def set(self, name: str, value: object) -> None:
        """No field is settable, unless a model says so and replaces this."""
        raise NotImplementedError(f"the model says that {name} is settable, but not how")

    def summary(self, *, brief: bool = False) -> Report:
        """Nothing but the number of steps."""
        return Report("Summary", [], {"steps": self.steps})

    def timings(self) -> Timings:
        """No parts are timed."""
        return Timings()

    def close(self) -> None:
        """Nothing to close."""

    def _moment(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "steps": self.steps}

    def _set_moment(self, saved: SavedState) -> None:
        self.seconds, self.steps = saved.metadata["seconds"], saved.metadata["steps"]
