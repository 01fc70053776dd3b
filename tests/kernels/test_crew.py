"""Tiles that share memory: each waits for what it needs and no more, neighbours help who is late, and no bit changes.

All tiles are in this process, where addresses need no translation; ``tests/parallel/test_crew.py`` has real ranks.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Barrier, Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import KernelError
from airshed.kernels.crew import Crew
from airshed.kernels.exact_sum import CompiledSums
from airshed.kernels.layout import PRIVATE
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.reference.trial import Trial, forcing, make_stepper, random_trial
from airshed.kernels.step_data import StepForcing, TwoStepWeights
from airshed.kernels.stepper import Stepper
from airshed.parallel.decomposition import Decomposition
from airshed.process.twostep import two_step_weights

from .near_tiles import NearTiles
from .tiles import EULER, Compiled, at_step, cuts, sums_of_tiles, wind_from, wrong_states

WEIGHTS = [EULER, *[two_step_weights(100.0, 100.0)] * 4, two_step_weights(80.0, 100.0), two_step_weights(80.0, 80.0)]
TWO = Decomposition.of(16, 12, 8, 2)
"""Two tiles, one to the north of the other."""


@contextmanager
def stepped_whole(
    kernel: MechanismKernel, trial: Trial, weights: Sequence[TwoStepWeights]
) -> Iterator[tuple[Stepper, list[np.ndarray]]]:
    """The stepper of the whole grid after steps, and the sums of each."""
    with closing(make_stepper(kernel, trial)) as whole:
        sums = []
        for number, each in enumerate(weights):
            step = StepForcing(each, *forcing(at_step(trial, number), whole.layout))
            sums.append(CompiledSums(kernel).total(whole.advance([step])[0]))
        yield whole, sums


def differences(
    kernel: MechanismKernel, trial: Trial, tiles: NearTiles, blocks: Sequence[Sequence[np.ndarray]]
) -> list[str]:
    """What differs between the whole and tiles whose sums of blocks, by tile, are these of each step."""
    with stepped_whole(kernel, trial, WEIGHTS[: len(blocks)]) as (whole, sums):
        wrong = wrong_states(tiles.cut, tiles.steppers, whole)
        for number, (of_tiles, expected) in enumerate(zip(blocks, sums, strict=True)):
            if not np.array_equal(sums_of_tiles(kernel, of_tiles), expected):
                wrong.append(f"sums of step {number}")
    return wrong


def complete(stepper: Stepper) -> bool:
    slot = stepper.crew._slot
    return bool(slot.finished == slot.published * slot.pieces)


def works_after(crew: Crew, gate: Event) -> None:
    """Let the thread of a tile compute only once a gate is open; others may before."""
    worked = crew.work

    def work(between: Callable[[], None] | None = None) -> None:
        assert gate.wait(60.0)
        worked(between)

    crew.work = work  # type: ignore[method-assign]


@pytest.mark.parametrize(("mechanism", "precision"), [("small_strato", "double"), ("toy", "single")])
@settings(max_examples=25)
@given(cut=cuts(), threads=st.integers(1, 3), helping=st.booleans(), seed=st.integers(0, 99))
def test_tiles_that_are_late_by_turns_have_the_bits_of_the_whole(
    compiled: Compiled, mechanism: str, precision: str, cut: Decomposition, threads: int, helping: bool, seed: int
) -> None:
    kernel = compiled(mechanism, 3, precision)
    trial = random_trial(kernel, cut.rows, cut.columns, EULER, seed=seed)
    with closing(NearTiles(kernel, trial, cut, threads, helping=helping)) as tiles:
        blocks = tiles.run(WEIGHTS, seed)
        assert differences(kernel, trial, tiles, blocks) == []
        assert helping or not any(stepper.crew.helped for stepper in tiles.steppers)


def test_a_tile_that_is_late_is_computed_by_its_neighbour(compiled: Compiled) -> None:
    kernel = compiled("small_strato", 3)
    trial = random_trial(kernel, TWO.rows, TWO.columns, EULER)
    with closing(NearTiles(kernel, trial, TWO)) as tiles:
        early, late = tiles.steppers
        gate = Event()
        works_after(late.crew, gate)

        def work(rank: int) -> list[np.ndarray]:
            try:
                sums = tiles.advance(rank, 0, WEIGHTS[:3])
                early.leave()  # the late one has done its steps by now
                return sums
            finally:
                gate.set()

        found = tiles.each(lambda rank: work(rank) if rank == 0 else tiles.advance(rank, 0, WEIGHTS[:3]))
        assert early.crew.helped == 0.5
        assert late.crew.helped == 0.0
        assert not any(late.seconds.values())
        assert differences(kernel, trial, tiles, list(zip(*found, strict=True))) == []


def test_who_does_not_wait_has_other_bits(compiled: Compiled) -> None:
    """The negative control: a tile that takes its neighbour's state as it is, though that one is late."""
    kernel = compiled("small_strato", 3)
    trial = wind_from("north", random_trial(kernel, TWO.rows, TWO.columns, EULER))
    with closing(NearTiles(kernel, trial, TWO)) as tiles:
        tiles.steppers[0].crew._slot.near_count = 0
        blocks = [tiles.advance(rank, 0, WEIGHTS[:2]) for rank in range(2)]
        assert "q of tile 0" in differences(kernel, trial, tiles, list(zip(*blocks, strict=True)))


@pytest.mark.parametrize("closed", [[0, 1], [0], [1]])
def test_steps_with_an_array_of_their_own_are_left_alone(compiled: Compiled, closed: list[int]) -> None:
    """Others cannot see it. Of two stretches, those numbered have one; the late tile begins when nobody helps."""
    kernel = compiled("small_strato", 3)
    trial = random_trial(kernel, TWO.rows, TWO.columns, EULER)
    with closing(NearTiles(kernel, trial, TWO)) as tiles:
        early, late = tiles.steppers
        gates, idle = [Event(), Event()], [0, 0]

        def turn() -> None:
            number = early.crew.steps - 1
            idle[number] += late.crew.steps > number and not complete(late)
            if idle[number] >= 3:
                gates[number].set()

        def first() -> list[np.ndarray]:
            sums = []
            for number in range(2):
                sums += tiles.advance(0, number, [WEIGHTS[number]])
                early.leave()
                gates[number].set()
            return sums

        def second() -> list[np.ndarray]:
            sums, worked = [], late.crew.work
            for number in range(2):
                layout = replace(late.layout, memory=PRIVATE) if number in closed else late.layout
                late.crew.work = worked  # type: ignore[method-assign]
                works_after(late.crew, gates[number])
                sums.append(late.advance([tiles.forcing(1, number, WEIGHTS[number], layout)])[0].copy())
            return sums

        tiles.beside[0].idle = turn
        found = tiles.each(lambda rank: (first, second)[rank]())
        assert [number for number in range(2) if idle[number] >= 3] == closed
        assert late.crew._slot.open == max({1, 2} - {number + 1 for number in closed}, default=0)
        assert early.crew.helped == pytest.approx((2 - len(closed)) / (4 - len(closed)))
        assert differences(kernel, trial, tiles, list(zip(*found, strict=True))) == []


def test_leaving_waits_until_neighbours_have_looked(compiled: Compiled) -> None:
    kernel = compiled("small_strato", 3)
    trial = random_trial(kernel, TWO.rows, TWO.columns, EULER)
    with closing(NearTiles(kernel, trial, TWO, helping=False)) as tiles:
        early, late = tiles.steppers
        gate, seen = Event(), []
        works_after(late.crew, gate)

        def leave() -> None:
            try:
                tiles.advance(0, 0, WEIGHTS[:1])  # which needs nothing that the late one has not had from the beginning
                seen.append(complete(late))
                tiles.beside[0].idle = waits
                early.leave()
                seen.append(complete(late))
            finally:
                gate.set()

        def waits() -> None:
            seen.append(complete(late))
            if len(seen) > 5:
                gate.set()

        tiles.each(lambda rank: leave() if rank == 0 else tiles.advance(1, 0, WEIGHTS[:1]))
        assert seen[:6] == [False] * 6
        assert seen[-1] is True


def test_who_waits_for_something_else_computes_what_needs_nothing_of_it(compiled: Compiled) -> None:
    """One piece at a time, of a neighbour's step; not the outer ones, before the own step begins."""
    kernel = compiled("small_strato", 3)
    trial = random_trial(kernel, TWO.rows, TWO.columns, EULER)
    with closing(NearTiles(kernel, trial, TWO)) as tiles:
        early, late = tiles.steppers
        slot, gate, published = late.crew._slot, Event(), Event()
        assert early.crew.assist() == 0.0
        assert early.crew.helped == 0.0
        published_before = late.crew.publish

        def publish(count: int) -> None:
            published_before(count)
            published.set()

        late.crew.publish = publish  # type: ignore[method-assign]
        works_after(late.crew, gate)

        def assist() -> list[np.ndarray]:
            try:
                assert published.wait(60.0)
                for number in range(slot.inner + 3):
                    assert slot.finished == min(number, slot.inner)
                    computed = early.crew.assist()
                    assert (computed > 0.0) == (number < slot.inner)
                assert 0 < slot.finished == slot.inner < slot.pieces
            finally:
                gate.set()
            return tiles.advance(0, 0, WEIGHTS[:1])

        found = tiles.each(lambda rank: assist() if rank == 0 else tiles.advance(1, 0, WEIGHTS[:1]))
        assert differences(kernel, trial, tiles, list(zip(*found, strict=True))) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_threads_end_when_something_goes_wrong_while_they_wait(compiled: Compiled, error: type[BaseException]) -> None:
    kernel = compiled("small_strato", 3)
    trial = random_trial(kernel, TWO.rows, TWO.columns, EULER)
    with closing(NearTiles(kernel, trial, TWO, threads=3)) as tiles:
        waiting, _ = tiles.steppers
        turns = 0

        def idle() -> None:
            nonlocal turns
            turns += 1
            if turns == 3:
                raise error

        tiles.beside[0].idle = idle
        with pytest.raises(error):
            tiles.advance(0, 0, WEIGHTS[:1])  # its neighbour never begins
        assert turns == 3
        assert waiting.crew._slot.given_up
        with pytest.raises(KernelError, match="a step was broken off"):
            tiles.advance(0, 1, WEIGHTS[:1])
        assert waiting.pool is not None
        both = Barrier(2, timeout=60.0)
        assert sorted(job.result() for job in [waiting.pool.submit(both.wait) for _ in range(2)]) == [0, 1]
