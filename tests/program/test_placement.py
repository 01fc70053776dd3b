"""Placement of stages: redistributions where values are read elsewhere, the same results, and both at once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import ProgramError
from airshed.program.execute import walk_forwards
from airshed.program.placement import (
    CHEMISTRY_RANKS,
    TRANSPORT_RANKS,
    check_devices,
    device,
    placed,
    placements,
)
from airshed.program.stage import ALL_RANKS, COLUMN, HALF, STATE, TRANSPORT, Program, add, cells, move

STRANG = Program("strang", 2, (cells(0, HALF), move(0, 1), cells(HALF, 1)))
CONCURRENT = Program(
    "concurrent", 1,
    (
        move(0, 1, STATE, "moved"), cells(0, HALF, STATE, "reacted"),
        add([(1, "reacted"), (1, "moved"), (-1, STATE)]), cells(HALF, 1),
    ),
)  # fmt: skip
SYMMETRIC = Program(
    "symmetric", 2,
    (
        move(0, 1, STATE, "moved"), cells(0, 1, STATE, "reacted"), move(0, 1, "reacted", "reacted"),
        cells(0, 1, "moved", "moved"), add([(HALF, "reacted"), (HALF, "moved")]),
    ),
)  # fmt: skip
GROUPS = {"transport": TRANSPORT_RANKS, "column": TRANSPORT_RANKS}


def on_groups(program, where=GROUPS):
    return placed(program, where, home=CHEMISTRY_RANKS)


class Symbols:
    """A working state that holds how its value came about."""

    def __init__(self, start=None):
        self.now = start

    def copy(self):
        return self.now

    def put(self, value):
        self.now = value

    def add_up(self, coefficients, values):
        self.now = ("sum", *zip(coefficients, values, strict=True))


class Operators:
    """Runs any stage on symbols, those of each placement; a redistribution copies from one to the other."""

    def __init__(self, values, log=None):
        self.values, self.log = values, [] if log is None else log

    def run(self, number, stage, given):
        source, target = stage.placements
        self.log.append((number, source, target))
        if stage.kernel == "redistribute":
            self.values[target].now = self.values[source].now
        else:
            self.values[source].now = (given, self.values[source].now)


def result(program):
    """Return the result of a program for a state, all its placements on one process; operators are named by order."""
    values = {name: Symbols("start" if name == program.home else "nothing") for name in placements(program)}
    runner = Operators(values)
    count = iter(range(len(program.stages)))
    named = [None if stage.kernel == "redistribute" else next(count) for stage in program.stages]
    walk_forwards(program, {stage.key: runner for stage in program.stages}, values, named)
    return values[program.home].now


def runs_alone(program, name):
    """The numbers of the stages that a process of one placement runs."""
    log = []

    class SinglePlacement:
        def run(self, number, stage, given):
            log.append(number)

    values = {name: Symbols("start")}
    walk_forwards(program, {stage.key: SinglePlacement() for stage in program.stages}, values, program.stages)
    return log


def test_transport_on_a_group_of_its_own_is_printed_with_its_redistributions():
    assert " ".join(str(on_groups(STRANG)).split()) == (
        "strang: order 2 1 cells 0 to 1/2 q -> q chemistry ranks "
        "2 redistribute q -> q chemistry ranks to transport ranks "
        "3 transport+column 0 to 1 q -> q ARS(2,2,2) transport ranks "
        "4 redistribute q -> q transport ranks to chemistry ranks "
        "5 cells 1/2 to 1 q -> q chemistry ranks"
    )


def test_a_program_in_one_place_stays_as_it_is():
    assert placed(STRANG, {}) == STRANG
    assert placements(placed(STRANG, {"cells": CHEMISTRY_RANKS}, home=CHEMISTRY_RANKS)) == (CHEMISTRY_RANKS,)


def test_each_process_runs_the_stages_of_its_placement():
    program = on_groups(STRANG)
    assert runs_alone(program, CHEMISTRY_RANKS) == [0, 1, 3, 4]
    assert runs_alone(program, TRANSPORT_RANKS) == [1, 2, 3]
    assert runs_alone(program, ALL_RANKS) == []


def test_concurrent_splitting_computes_between_sending_and_receiving():
    """The state leaves before chemistry begins, and the moved one arrives after it: both groups compute at once."""
    lines = [(stage.kernel, stage.placement) for stage in on_groups(CONCURRENT).stages]
    out, back = f"{CHEMISTRY_RANKS} to {TRANSPORT_RANKS}", f"{TRANSPORT_RANKS} to {CHEMISTRY_RANKS}"
    order = [place for kernel, place in lines if kernel == "redistribute" or place == CHEMISTRY_RANKS]
    assert order == [out, CHEMISTRY_RANKS, back, CHEMISTRY_RANKS, CHEMISTRY_RANKS]


def test_symmetric_splitting_computes_at_once_in_both_halves():
    program = on_groups(SYMMETRIC)
    chemistry, transport = (
        ["both" if program.stages[each].kernel == "redistribute" else "own" for each in runs_alone(program, name)]
        for name in (CHEMISTRY_RANKS, TRANSPORT_RANKS)
    )
    assert chemistry == ["both", "own", "both", "both", "own", "both"]  # sums are not run by runners
    assert transport == ["both", "own", "both", "both", "own", "both"]


def test_the_state_comes_home_where_the_last_stage_ran_elsewhere():
    program = on_groups(Program("lie", 1, (cells(0, 1), move(0, 1))))
    assert program.stages[-1].placements == (TRANSPORT_RANKS, CHEMISTRY_RANKS)
    assert program.home == CHEMISTRY_RANKS


def test_a_value_that_is_read_twice_elsewhere_travels_once():
    twice = Program(
        "twice", 1, (move(0, 1, STATE, "one"), move(0, HALF, STATE, "two"), add([(HALF, "one"), (HALF, "two")]))
    )
    sent = [stage.reads for stage in on_groups(twice).stages if stage.placements[0] == CHEMISTRY_RANKS]
    assert sent == [(STATE,), ("one", "two")]
    assert result(on_groups(twice)) == result(twice)


VALUES = (STATE, "a", "b")
PLACES = ("here", "there", "elsewhere")


@st.composite
def placed_programs(draw):
    """A program of random stages, each of which reads values that were written, and where to place them."""
    there, stages, where = [STATE], [], {}
    for number in range(draw(st.integers(1, 7))):
        writes = draw(st.sampled_from(VALUES))
        if draw(st.integers(0, 3)):
            read = draw(st.sampled_from(there))
            stages.append(cells(0, 1, read, writes, name=f"stage {number}"))
            where[f"stage {number}"] = draw(st.sampled_from(PLACES))
        else:
            terms = draw(st.lists(st.sampled_from(there), min_size=1, max_size=3, unique=True))
            stages.append(add([(1.0, each) for each in terms], writes))
        there = list(dict.fromkeys([*there, writes]))
    stages.append(add([(1.0, each) for each in there], STATE))
    return Program("any", 1, tuple(stages)), where


@pytest.mark.standard
@given(placed_programs())
def test_placement_changes_no_result(drawn):
    program, where = drawn
    assert result(placed(program, where, home="here")) == result(program)


def test_a_redistribution_that_is_missing_is_seen():
    """Negative control: a process computes with the received data."""
    first, *rest = on_groups(STRANG).stages
    assert result(replace(STRANG, stages=(first, *rest[:2], rest[3]))) != result(STRANG)
    with pytest.raises(KeyError, match="q"):
        result(replace(STRANG, stages=(first, *rest[1:])))


def test_a_value_sent_before_it_exists_is_seen():
    """The control of the place of a redistribution."""
    stages = list(on_groups(STRANG).stages)
    stages[0], stages[1] = stages[1], stages[0]
    assert result(on_groups(STRANG)) == result(STRANG)
    assert result(replace(STRANG, stages=tuple(stages))) != result(STRANG)


def test_columns_stay_with_chemistry_where_they_are_placed_there():
    apart = Program(
        "apart", 2, (cells(0, HALF), move(0, HALF, kernel=COLUMN), move(0, 1, kernel=TRANSPORT), cells(HALF, 1))
    )
    program = on_groups(apart, {"transport": TRANSPORT_RANKS})
    assert [stage.placement for stage in program.stages if stage.kernel == COLUMN] == [CHEMISTRY_RANKS]
    assert sum(stage.kernel == "redistribute" for stage in program.stages) == 2


def test_what_cannot_be_placed_is_refused():
    with pytest.raises(ProgramError, match="strang has no stage 'transprot' to place; did you mean"):
        placed(STRANG, {"transprot": TRANSPORT_RANKS})
    with pytest.raises(
        ProgramError, match=r"transport\+column runs in one pass, so it has one placement; got all ranks and"
    ):
        placed(STRANG, {"transport": TRANSPORT_RANKS})
    assert placements(placed(STRANG, {"transport+column": TRANSPORT_RANKS})) == (ALL_RANKS, TRANSPORT_RANKS)


def test_a_device_is_a_placement_that_a_backend_has_to_offer():
    program = placed(STRANG, {"cells": device("cuda")})
    assert [stage.placement for stage in program.stages] == [
        "all ranks to device cuda", "device cuda", "device cuda to all ranks", "all ranks",
        "all ranks to device cuda", "device cuda", "device cuda to all ranks",
    ]  # fmt: skip
    assert result(program) == result(STRANG)
    check_devices(program, ["cuda"])
    check_devices(STRANG, [])
    with pytest.raises(ProgramError, match="strang runs stages on the device 'cuda'; there is none but the processor"):
        check_devices(program, [])
    with pytest.raises(ProgramError, match="there is hip"):
        check_devices(program, ["hip"])
