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
"""Key of the fingerprint of the case in the metadata of a snapshot."""


class SavedState(Protocol):
    """State from which a model continues bitwise identically: a snapshot or a restart.

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
        """Return a part of a tiled array: a box of its first axes."""
        ...


OPTIONAL_PREFIX: Final = "beside."
"""Prefix of the names of arrays that another case may lack: values that were set, and results of the last step."""


@dataclass(frozen=True)
class Snapshot:
    """State of a model in memory, see :class:`SavedState`.

    tiled     arrays whose first axes are those of the rank's :attr:`Domain.held`
    whole     arrays that are the same on all ranks
    metadata  plain values for JSON, with "seconds" and "steps"
    """

    tiled: Arrays
    whole: Arrays
    metadata: Mapping[str, Any]

    def part(self, name: str, box: Box) -> AnyArray:
        """Return the array of this rank; ``box`` must be the box of the rank."""
        return self.tiled[name]

    def copied(self) -> "Snapshot":
        """Return a copy that the next steps do not change."""
        return Snapshot(_copies(self.tiled), _copies(self.whole), dict(self.metadata))


def _copies(arrays: Arrays) -> dict[str, AnyArray]:
    return {name: np.array(array) for name, array in arrays.items()}


@dataclass(frozen=True)
class BatchLimits:
    """Limits of batches of steps.

    batch    most steps in one call of :meth:`Model.step_through`, at least 1; the same on all ranks
    lasting  number of steps that leave the arrays of :meth:`Model.view` unchanged; 0 if the next step may change them
    """

    batch: int = 1
    lasting: int = 0


@dataclass(frozen=True)
class Timings:
    """Wall times [s] of the parts of all steps so far, as means over threads.

    waiting  parts in which a rank does not compute
    notes    remarks on these times
    """

    parts: Mapping[str, float] = field(default_factory=dict)
    waiting: Collection[str] = ()
    notes: Sequence[str] = ()


class Model(Protocol):
    """Simulated system that advances in steps, without files, wall time or users.

    Times are seconds since the start of the case, negative before it. All methods are collective over ranks.
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
        """The size of a step batch, and the lifetime of views."""
        ...

    def next_change(self) -> float:
        """Return the next time at which the forcing has a bend or a jump, where a step must end; else infinity."""
        ...

    def longest_step(self, until: float) -> float:
        """Return the longest stable step [s] from now to `until`, which is at most :meth:`next_change`."""
        ...

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance the state by a batch of steps that end at these increasing times, bitwise identical to single calls.

        The last time is at most :meth:`next_change`.
        """
        ...

    def view(self, name: str) -> FieldView | AnyArray:
        """Return a view of the part of a field of this rank, unchanged for ``batch_limits.lasting`` more steps."""
        ...

    def set(self, name: str, value: object) -> None:
        """Set a settable field before the next step; raises CaseError for an invalid value.

        value  an array of the whole domain or a number, in the unit of the field, or a text with a unit; the same on
               all ranks
        """
        ...

    def save(self) -> Snapshot:
        """Return the state for :meth:`restore`; its arrays belong to the model until they are copied."""
        ...

    def restore(self, saved: SavedState) -> None:
        """Restore a saved state."""
        ...

    def summary(self, *, brief: bool = False) -> Report:
        """Return the summary of the run so far, with `brief` for a screen."""
        ...

    def timings(self) -> Timings:
        """Return the wall times of the parts of steps."""
        ...

    def close(self) -> None:
        """Stop the threads and close the files of the model."""
        ...


class PlainModel:
    """Base class of simple models without forcing, which advance by single steps.

    A model adds `domain`, `fields`, `longest_step`, `step_to`, `view`, `save` and `restore`. `save` and `restore` use
    :meth:`_moment` and :meth:`_set_moment` for the time.
    """

    batch_limits = BatchLimits()

    def __init__(self) -> None:
        self.seconds, self.steps = 0.0, 0

    def next_change(self) -> float:
        """Return the next time at which the forcing has a bend or a jump."""
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
        """Raise NotImplementedError; a model with settable fields overrides this."""
        raise NotImplementedError(f"the model has a settable field {name}, and does not override set")

    def summary(self, *, brief: bool = False) -> Report:
        """Return the number of steps."""
        return Report("Summary", [], {"steps": self.steps})

    def timings(self) -> Timings:
        """Return no times."""
        return Timings()

    def close(self) -> None:
        """Close no resources."""

    def _moment(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "steps": self.steps}

    def _set_moment(self, saved: SavedState) -> None:
        self.seconds, self.steps = saved.metadata["seconds"], saved.metadata["steps"]
