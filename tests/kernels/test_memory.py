"""Memory that is given back to the system."""

import numpy as np
import pytest

from airshed.kernels import host as memory


def resident() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


@pytest.mark.skipif(memory._TRIM is None, reason="only the GNU C library gives memory back on demand")
def test_freed_memory_goes_back_to_the_system() -> None:
    held = [np.ones(4000) for _ in range(2000)]  # 32 kB each: none of them a mapping of its own
    del held[:-1]  # the last one keeps the heap from shrinking by itself
    before = resident()
    memory.return_to_system()
    assert before - resident() > 50_000


def test_without_the_gnu_library_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_TRIM", None)
    memory.return_to_system()
