"""Threads that share the pieces of steps: any batches and threads give the bits of one step after another."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import Side, StepForcing
from airshed.kernels.step.trial import Trial, forcing, make_stepper, random_trial
from airshed.program.weights import StageWeights, two_step_weights

from .conftest import toy_of_all_kinds
from .tiles import EULER, at_step

WEIGHTS = [EULER, *[two_step_weights(100.0, 100.0)] * 4, two_step_weights(80.0, 100.0), two_step_weights(80.0, 80.0)]

WIND = 0.015
"""Greatest Courant number of a face: six faces empty no cell in all these steps, so that all sums are numbers."""


def advanced(stepper: Stepper, trial: Trial, batches: Sequence[Sequence[StageWeights]]) -> list[bytes]:
    """Return the state, and the sums of the blocks of each step, after batches of steps."""
    sums, number = list[bytes](), 0
    for weights in batches:
        steps = []
        for each in weights:
            steps.append(StepForcing(each, *forcing(at_step(trial, number), stepper.layout)))
            number += 1
        sums += [each.tobytes() for each in stepper.advance(steps)]
    return [*(array.tobytes() for array in vars(stepper.state).values()), *sums]


@pytest.mark.parametrize("precision", ["double", "single"])
@settings(max_examples=10)
@given(cuts=st.sets(st.integers(1, 6)), rows=st.integers(1, 16), columns=st.integers(1, 20), threads=st.integers(1, 3))
def test_batches_and_threads_change_no_bit(
    precision: str, cuts: set[int], rows: int, columns: int, threads: int
) -> None:
    kernel = toy_of_all_kinds(precision)
    trial = random_trial(kernel, (rows, columns), EULER, wind=WIND)
    places = [0, *sorted(cuts), len(WEIGHTS)]
    batches = [WEIGHTS[first:last] for first, last in pairwise(places)]
    with closing(make_stepper(kernel, trial)) as one, closing(make_stepper(kernel, trial, threads, batch=7)) as other:
        assert advanced(other, trial, batches) == advanced(one, trial, [[each] for each in WEIGHTS])


def test_a_step_with_other_weights_has_other_bits() -> None:
    """The negative control."""
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (5, 9), EULER)
    one, other = (make_stepper(kernel, trial, 2, batch=7) for _ in range(2))
    with closing(one), closing(other):
        assert advanced(one, trial, [WEIGHTS]) != advanced(other, trial, [[*WEIGHTS[:-1], WEIGHTS[1]]])


class Silent:
    """A neighbour to the north whose edges never arrive; the third check raises an error."""

    sides: tuple[Side, ...] = ("north",)

    def __init__(self, error: type[BaseException]) -> None:
        self.asked, self._error = 0, error

    def start(self, q: AnyArray) -> dict[Side, AnyArray]:
        return {"north": np.zeros_like(q[:2])}

    def arrived(self) -> bool:
        self.asked += 1
        if self.asked == 3:
            raise self._error
        return False

    def close(self) -> None:
        pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_threads_end_when_something_goes_wrong_while_they_wait(error: type[BaseException]) -> None:
    kernel, neighbour = toy_of_all_kinds(), Silent(error)
    trial = random_trial(kernel, (16, 12), EULER)
    with closing(make_stepper(kernel, trial, 3, neighbours=neighbour)) as stepper:
        with pytest.raises(error):
            advanced(stepper, trial, [WEIGHTS[:1]])
        assert neighbour.asked == 3
        with pytest.raises(KernelError, match="a step was interrupted"):
            advanced(stepper, trial, [WEIGHTS[:1]])
        assert isinstance(stepper.pool, ThreadPoolExecutor)
        both = Barrier(2, timeout=60.0)
        assert sorted(job.result() for job in [stepper.pool.submit(both.wait) for _ in range(2)]) == [0, 1]
