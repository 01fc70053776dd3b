"""Copies of what a model holds: made behind its next step where they can be, and in time before that changes."""

import threading
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
