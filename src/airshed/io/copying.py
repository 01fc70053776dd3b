"""Copies of a model's fields: made by the writer thread beside the next step, or before a step that changes them."""

import threading
from collections import deque
from collections.abc import Callable


class Copy:
    """A copy that is made once: by the writer thread, or by the computation before it changes the original.

    make  makes it; it is called once, and dropped then with what it holds of the original
    """

    def __init__(self, make: Callable[[], None]) -> None:
        self._make: Callable[[], None] | None = make
        self._turn = threading.Lock()

    def ensure(self) -> bool:
        """Return when the copy is made, and whether this call made it; raises its error."""
        with self._turn:
            if self._make is None:
                return False
            self._make()
            self._make = None
            return True


class Lent:
    """Copies of a model's fields that are still to be made, and the step before which they must be."""

    def __init__(self) -> None:
        self._copies: deque[tuple[int, Callable[[], object]]] = deque()

    def add(self, until: int, ensure: Callable[[], object]) -> None:
        """Add a function that makes a copy, or waits for it, to be called when the model has made so many steps."""
        self._copies.append((until, ensure))

    def release(self, steps: int) -> None:
        """Return when all is copied that the next step may change, of a model that has made so many steps."""
        while self._copies and self._copies[0][0] <= steps:
            self._copies.popleft()[1]()

    def steps_free(self, steps: int, most: int) -> int:
        """Return how many more steps, of `most`, change nothing that was lent; after :meth:`release`, 1 at least.

        Whether a copy has been made meanwhile does not count, so that all ranks have the same answer.
        """
        return min([most, *(until - steps for until, _ in self._copies)])
