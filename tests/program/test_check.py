"""The simulator accepts time steps, and refuses each planted error and each mutation of a valid program."""

import re
import weakref
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.program.random_programs import programs, step

from airshed.core.errors import ProgramError
from airshed.program import check as simulator
from airshed.program.check import ProgramMemory, check
from airshed.program.execute import walk_forwards
from airshed.program.integrators import SPLITTINGS, integrator, with_updates
from airshed.program.placement import on_groups
from airshed.program.stage import (
    CELLS,
    COLUMN,
    EVERYTHING,
    HALF,
    TRANSPORT,
    Stage,
    add,
    cells,
    move,
)
from airshed.program.weights import FORMULAS, StageWeights

IMEX = Stage(EVERYTHING, weights="two-step")
STRANG = (cells(0, HALF), move(0, 1), cells(HALF, 1))
LIE = (move(0, 1), cells(0, 1))
APART = (
    cells(0, HALF), move(0, HALF, kernel=COLUMN), move(0, 1, kernel=TRANSPORT), move(HALF, 1, kernel=COLUMN),
    cells(HALF, 1),
)  # fmt: skip
CONCURRENT = (
    cells(0, HALF, writes="c"), move(0, 1, writes="m"), add([(1, "c"), (1, "m"), (-1, "q")]), cells(HALF, 1)
)  # fmt: skip
SYMMETRIC = (
    move(0, 1, writes="a"), cells(0, 1, "a", "a"), cells(0, 1), move(0, 1), add([(0.5, "a"), (0.5, "q")])
)  # fmt: skip


@pytest.mark.parametrize(
    ("program", "memory"),
    [
        (step(IMEX, order=2), ProgramMemory(1, 2)), (step(*STRANG, order=2), ProgramMemory(0, 1)),
        (step(*LIE), ProgramMemory(0, 1)), (step(*APART, order=2), ProgramMemory(0, 1)),
        (step(*CONCURRENT), ProgramMemory(0, 4)), (step(*SYMMETRIC, order=2), ProgramMemory(0, 3)),
        (step(cells(0, 1)), ProgramMemory(0, 1)), (step(move(0, 1)), ProgramMemory(0, 1)),
        (step(cells(0, 1), cells(0, 1, name="particles")), ProgramMemory(0, 1)),
        (step(IMEX, Stage(CELLS, name="particles", changes_history=True)), ProgramMemory(0, 2)),
    ],
)  # fmt: skip
def test_time_steps_are_accepted(program, memory):
    assert check(program) == memory


PLANTED = {
    "no stages": (step(), "has no stages"),
    "no order": (step(move(0, 1), order=0), "has the order 0"),
    "cells by a formula": (step(move(0, 1), Stage(CELLS, weights="ARS(2,2,2)")), "stage 2 .* cells alone choose"),
    "operators with two placements": (
        step(Stage(CELLS, placement="all ranks to b"), Stage("redistribute", placement="b to all ranks")),
        "stage 1 .* any other stage has one",
    ),
    "a redistribution that goes nowhere": (
        step(move(0, 1), Stage("redistribute"), cells(0, 1)), "stage 2 .* a redistribution has two"
    ),
    "unknown operator": (step(Stage(("transports",), weights="ARS(2,2,2)")), "stage 1 .* an operator is one of tr"),
    "no operator": (step(Stage(())), "an operator is one of transport, column, cells"),
    "unknown kernel": (step(Stage("add")), "stage 1 .* an operator is one of"),
    "operator twice": (step(Stage(("cells", "cells"))), "twice"),
    "unknown formula": (step(move(0, 1, weights="two step")), r"stage 1 .*'two step'.* one of two-step, ARS\(2,2,2\)"),
    "transport without a formula": (step(move(0, 1, weights="own")), "stage 1 .* a formula is one of"),
    "a sum of nothing known": (step(cells(0, 1), add([(1, "a")])), "stage 1 .* 'q', which no later stage reads"),
    "read and not written": (step(cells(0, 1, "a")), "reads 'a', which no stage before it writes"),
    "two values of an operator": (step(Stage(CELLS, ("q", "q"))), "only a sum reads"),
    "written and not read": (step(cells(0, HALF, writes="c"), move(0, 1), cells(0, 1)), "stage 1 .* no later stage"),
    "overwritten before it is read": (
        step(cells(0, 1, writes="c"), cells(0, 1, writes="c"), cells(0, 1, "c")), "stage 1 .* no later stage reads"
    ),
    "no result": (step(move(0, 1, writes="a"), cells(0, 1, "a", "b"), order=2), "writes 'b'"),
    "overlap": (step(cells(0, HALF), cells(0.4, 1)), "stage 2 .* the span overlaps; let it begin at 0.5"),
    "gap": (step(cells(0, HALF), move(0, 1), cells(0.6, 1)), "stage 3 .* the span leaves a gap; let it begin at 0.5"),
    "backwards": (step(cells(0, 1), cells(1, HALF)), "stage 2 .* forwards"),
    "beyond the step": (step(cells(0, 1.5)), "inside 0 to 1"),
    "half a step": (step(cells(0, HALF), move(0, 1)), "cells over 0.5 of the step"),
    "one way is shorter": (
        step(cells(0, HALF, writes="a"), cells(0, 1), add([(0.5, "a"), (0.5, "q")])), "cells over 0.75 of the step"
    ),
    "one fused operator lags": (
        step(move(0, HALF, kernel=COLUMN), move(HALF, 1), move(0, HALF, kernel=TRANSPORT)), "stage 2 .* transport has"
    ),
    "kinds of cells are mixed up": (step(cells(0, HALF), cells(HALF, 1, name="particles")), "cells of particles has"),
    "sum of less": (step(cells(0, 1, writes="a"), add([(0.5, "a"), (0.4, "q")])), "add up to 0.9"),
    "sum without coefficients": (step(Stage("sum")), "needs a coefficient for each"),
    "sum with a coefficient too few": (
        step(cells(0, 1, writes="a"), Stage("sum", ("a", "q"), weights=(1.0,))), "needs a coefficient for each of a, q"
    ),
    "order of Lie splitting": (step(*LIE, order=2), "is of order 1, not 2: the term .* claim the lower order"),
    "order of concurrent phases": (step(*CONCURRENT, order=2), "is of order 1, not 2"),
    "order of Strang splitting": (step(*STRANG, order=3), "stage 2 .* order 2 in a program of order 3"),
    "history in a splitting": (
        step(cells(0, HALF), move(0, 1, weights="two-step"), cells(HALF, 1)), "stage 2 .* history, but stage 1"
    ),
    "history with particles": (
        step(IMEX, cells(0, 1, name="particles")), r"stage 1 .* history, but stage 2.* \(changes_history\)"
    ),
    "an operator in place of a kernel": (step(Stage("transport")), "a kernel is a tuple of operators"),
    "history of another value": (
        step(move(0, 1, writes="a", weights="two-step"), cells(0, 1, "a")), "history, which only 'q' has"
    ),
    "read elsewhere": (
        step(replace(cells(0, 1), placement="here"), replace(move(0, 1), placement="there")),
        "stage 2 .* reads 'q' on there, but it is on here: redistribute it before",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "message"), PLANTED.values(), ids=PLANTED)
def test_a_planted_error_is_refused(program, message):
    with pytest.raises(ProgramError, match=f"^program 'planted'.*{message}"):
        check(program)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("name", SPLITTINGS)
def test_placed_programs_are_accepted_and_without_a_redistribution_refused(name, apart):
    program = on_groups(SPLITTINGS[name](split_columns=apart))
    assert check(program).lasting == 0
    moves = [number for number, stage in enumerate(program.stages) if stage.kernel == "redistribute"]
    for number in moves:
        with pytest.raises(ProgramError):
            check(replace(program, stages=program.stages[:number] + program.stages[number + 1 :]))


def test_updates_of_a_formula_with_history_change_all_levels():
    """They move the older level, so that no view of it lasts; with weights of their own they are refused."""
    program = with_updates(integrator("imex"))
    assert (program.order, check(program).lasting, check(integrator("imex")).lasting) == (1, 0, 1)
    with pytest.raises(ProgramError, match="a formula with history, but stage 2"):
        check(changed(program, 1, changes_history=False))
    for name in SPLITTINGS:
        check(with_updates(integrator(name)))


@pytest.mark.parametrize("field", ["c0", "t0", "t1", "g"])
@pytest.mark.parametrize("name", FORMULAS)
def test_a_weight_that_is_off_by_a_millionth_is_refused(monkeypatch, name, field):
    """The negative control of formulas: each weight of the last application counts."""
    formula = FORMULAS[name]

    def changed(length, previous) -> tuple[StageWeights, ...]:
        *first, last = formula.applications(length, previous)
        return (*first, replace(last, **{field: getattr(last, field) * (1.0 + 1e-6)}))

    monkeypatch.setitem(simulator.FORMULAS, name, replace(formula, applications=changed))
    program = step(IMEX) if formula.history else step(move(0, 1))
    with pytest.raises(ProgramError, match=re.escape(f"correct the weights of {name}")):
        check(program)


@given(st.sampled_from(list(FORMULAS)), st.floats(0.1, 1e4), st.floats(0.1, 1.3))
def test_formulas_advance_constant_rates_exactly(name, previous, ratio):
    length = ratio * previous
    assert FORMULAS[name].advances(length, previous)[-1] == pytest.approx((length, length), rel=1e-12)


# ---- random programs and mutations of them ---------------------------------------------------------------------------


def changed(program, number, **what):
    stages = list(program.stages)
    stages[number] = replace(stages[number], **what)
    return replace(program, stages=tuple(stages))


@st.composite
def mutations(draw, program):
    """An error in a random stage of operators."""
    operators = [number for number, stage in enumerate(program.stages) if stage.operators]
    number = draw(st.sampled_from(operators))
    stage, stages = program.stages[number], program.stages
    begin, end = stage.span
    kind = draw(st.sampled_from(["span", "reverse", "left out", "repeated", "read", "written", "formula", "sum"]))
    match kind:
        case "span":
            return changed(program, number, span=draw(st.sampled_from([(begin, end - 0.01), (begin + 0.01, end)])))
        case "reverse":
            return changed(program, number, span=(end, begin))
        case "left out":
            return replace(program, stages=stages[:number] + stages[number + 1 :])
        case "repeated":
            again = replace(stage, reads=(stage.writes,))
            return replace(program, stages=(*stages[: number + 1], again, *stages[number + 1 :]))
        case "read":
            return changed(program, number, reads=("unknown",))
        case "written":
            return changed(program, number, writes="unread")
        case "formula":
            return changed(program, number, weights="Euler")
    if stages[-1].kernel != "sum":
        return changed(program, number, kernel=("diffusion",))
    return changed(program, -1, weights=tuple(c + 0.01 for c in stages[-1].weights))


@given(programs())
def test_random_programs_are_accepted(program):
    memory = check(program)
    assert memory.lasting == 0
    assert memory.buffers <= 1 + len({stage.writes for stage in program.stages})


@given(st.data())
def test_random_mutations_are_refused(data):
    program = data.draw(programs())
    with pytest.raises(ProgramError):
        check(data.draw(mutations(program)))


# ---- the walk needs the memory that the simulator derives ------------------------------------------------------------


class Counter:
    """A working state without content, and the greatest number of copies of it at once."""

    def __init__(self):
        self.copies, self.most = weakref.WeakSet(), 0

    def copy(self):
        copy = StoredVector()
        self.copies.add(copy)
        self.most = max(self.most, len(self.copies))
        return copy

    def put(self, value):
        assert value in self.copies

    def add_up(self, coefficients, values):
        assert all(value in self.copies for value in values)

    def run(self, number, stage, given):
        pass


class StoredVector:
    """A copy of the working state."""


def copies_of(program):
    counter = Counter()
    walk_forwards(program, {stage.key: counter for stage in program.stages}, counter, [None] * len(program.stages))
    return counter.most


SHIPPED = [integrator(name, split_columns=apart) for name in SPLITTINGS for apart in (False, True)] + [
    integrator("imex")
]


@pytest.mark.parametrize("program", SHIPPED, ids=lambda program: f"{program.name} of {len(program.stages)}")
def test_shipped_programs_need_the_memory_that_is_derived(program):
    memory = check(program)
    assert memory.buffers == memory.lasting + copies_of(program) + 1


@given(programs())
def test_random_programs_need_no_more_memory_than_is_derived(program):
    assert copies_of(program) < check(program).buffers
