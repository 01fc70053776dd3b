"""Sums over all ranks with the same bits for any number of them, see :mod:`airshed.core.exact_sum`."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.parallel.communicator import Communicator

Array = npt.NDArray[np.float64]


class Cut(Protocol):
    """What cuts summands into integers: :mod:`airshed.core.exact_sum`, or its compiled form."""

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitudes (..., column) of (..., summand, column)."""
        ...

    def parts(self, values: Array, greatest: Array) -> npt.NDArray[np.int64]:
        """Return the sums (..., 2, column) of the integers that the summands are cut into."""
        ...

    def value(self, sums: npt.NDArray[np.int64], greatest: Array) -> Array:
        """Return the sums (..., column) that the integers (..., 2, column) stand for."""
        ...


def total(values: Array, ranks: Communicator, cut: Cut = exact_sum) -> Array:
    """Return the sums over the first axis, and over all ranks: (summand, ...) -> (...)."""
    flat = np.ascontiguousarray(values, np.float64).reshape(len(values), -1)
    greatest = ranks.largest(cut.magnitudes(flat))
    sums = ranks.total(cut.parts(flat, greatest))
    return cut.value(sums, greatest).reshape(values.shape[1:])


class LateTotal:
    """The sums over the second axis of (step, summand, column) and over all ranks, under way while the run goes on.

    They take two messages, one after the other: the second one begins when :meth:`proceed` is called, until when the
    summands must stay as they are. All ranks make the same calls.
    """

    def __init__(self, values: Array, ranks: Communicator, cut: Cut = exact_sum) -> None:
        self._values, self._ranks, self._cut = values, ranks, cut
        self._under_way = ranks.start_largest(cut.magnitudes(values))
        self._greatest: Array | None = None

    def proceed(self) -> None:
        """Begin the second message, if it has not begun."""
        if self._greatest is None:
            self._greatest = self._under_way()
            self._under_way = self._ranks.start_total(self._cut.parts(self._values, self._greatest))

    def result(self) -> Array:
        """Wait for the sums (step, column) and return them, the same bits for any number of ranks."""
        self.proceed()
        assert self._greatest is not None
        return self._cut.value(self._under_way(), self._greatest)


class LateSum:
    """The sums over the first axis of (summand, ...) and over all ranks, under way until somebody asks for them.

    All ranks make one together, and ask for the first time together.
    """

    def __init__(self, values: Array, ranks: Communicator, cut: Cut = exact_sum) -> None:
        self._shape = values.shape[1:]
        self._total: LateTotal | None = LateTotal(
            np.ascontiguousarray(values, np.float64).reshape(1, len(values), -1), ranks, cut
        )
        self._sums: Array | None = None

    def proceed(self) -> None:
        """See :meth:`LateTotal.proceed`; all ranks do so together."""
        if self._total is not None:
            self._total.proceed()

    def __call__(self) -> Array:
        """Wait for the sums (...) and return them."""
        if self._total is not None:
            self._sums, self._total = self._total.result()[0].reshape(self._shape), None
        assert self._sums is not None
        return self._sums
