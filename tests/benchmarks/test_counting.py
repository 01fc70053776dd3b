"""Bytes of the arrays that objects hold."""

from concurrent.futures import Future

import numpy as np
from benchmarks.counting import array_bytes

from airshed.grid import Grid

ARRAY = np.zeros(100)


def test_each_array_counts_once() -> None:
    done: Future[object] = Future()
    done.set_result({"a": np.zeros(10)})
    assert array_bytes(ARRAY, [ARRAY[3:7], (ARRAY.reshape(4, 25),)], {"other": np.zeros(5)}) == 800 + 40
    assert array_bytes(done, Future(), "text", None) == 80


def test_only_objects_and_methods_of_the_model_are_searched() -> None:
    grid = Grid.regular((0.0, 4.0), (50.0, 52.0), 1.0, [20.0, 50.0])
    faces = 8 * (5 + 3 + 3)
    assert array_bytes(grid.__class__.__repr__.__get__(grid)) >= faces
    assert array_bytes({"grid": grid}) >= faces
    assert array_bytes([grid], without=[grid]) == 0
