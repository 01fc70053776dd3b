"""Copies of what a model holds: made behind its next step where they can be, and in time before that changes."""

import threading
from collections import deque
from collections.abc import Callable


class Copy:
    """A copy that whoever comes first makes: the thread that writes, or the computation before it changes the original.

    make  makes it; it is called once, and dropped then with what it holds of the original
    """

    def __init__(self, make: Callable[[], None]) -> None:
        self._make: Callable[[], None] | None = make
        self._turn = threading.Lock()

    def ensure(self) -> bool:
        """Return when the copy is made, and whether this call made it; raises what goes wrong with that."""
        with self._turn:
            if self._make is None:
                return False
            self._make()
            self._make = None
            return True


class Lent:
    """Copies that are still to be made of what a model holds, and up to which step they must be."""

    def __init__(self) -> None:
        self._copies: deque[tuple[int, Callable[[], object]]] = deque()

    def add(self, until: int, ensure: Callable[[], object]) -> None:
        """Note what makes a copy, or waits for it, once the model has made so many steps."""
        self._copies.append((until, ensure))

    def release(self, steps: int) -> None:
        """Return when what the next step may change is copied, of a model that has made so many steps."""
        while self._copies and self._copies[0][0] <= steps:
            self._copies.popleft()[1]()

    def steps_free(self, steps: int, most: int) -> int:
        """Return how many more steps, of `most`, change nothing that was lent; after :meth:`release`, 1 at least.

        Whether a copy has been made meanwhile does not count, so that all ranks have the same answer.
        """
        return min([most, *(until - steps for until, _ in self._copies)])
