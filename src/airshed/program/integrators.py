"""Integrators: functions that return the stages of a step, with their order and source.

With ``split_columns`` columns are separate stages: half a step before horizontal transport and half a step after it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from airshed.program.stage import (
    CELLS,
    COLUMN,
    EVERYTHING,
    HALF,
    STATE,
    TRANSPORT,
    Program,
    Stage,
    add,
    cells,
    move,
)

REACTED, MOVED = "reacted", "moved"


def imex() -> Program:
    """Return the two-step formula over all operators: transport explicit, columns with their chemistry implicit.

    All operators are fused in one stage, so that a step is one pass through memory.
    """
    return Program(
        "imex", 2, (move(0, 1, kernel=EVERYTHING, weights="two-step"),),
        source="Verwer, Blom & Hundsdorfer 1996, Appl. Numer. Math. 20, 191-209",
    )  # fmt: skip


def strang(*, split_columns: bool = False) -> Program:
    """Return Strang splitting: half a step of chemistry, a step of transport and columns, half a step of chemistry.

    The fastest process comes last, so that emission is in balance with chemistry at the end of a step (Sportisse 2000,
    J. Comput. Phys. 161, 140-168).
    """
    return Program(
        "strang", 2, (cells(0, HALF), *_moves(split_columns=split_columns), cells(HALF, 1)),
        source="Strang 1968, SIAM J. Numer. Anal. 5, 506-517",
    )  # fmt: skip


def lie(*, split_columns: bool = False) -> Program:
    """Return Lie splitting: a step of transport and columns, then a step of chemistry.

    It calls chemistry half as often as Strang splitting.
    """
    return Program(
        "lie",
        1,
        (*_moves(split_columns=split_columns), cells(0, 1)),
        source="Trotter 1959, Proc. Am. Math. Soc. 10, 545-551",
    )


def symmetric(*, split_columns: bool = False) -> Program:
    """Return symmetrically weighted splitting: the mean of Lie splitting in both orders.

    Both branches start from the same state. Their stages alternate, so that chemistry and transport run at the same
    time on two groups of ranks.
    """
    return Program(
        "symmetric", 2,
        (
            *_moves(STATE, MOVED, split_columns=split_columns), cells(0, 1, STATE, REACTED),
            *_moves(REACTED, REACTED, split_columns=split_columns), cells(0, 1, MOVED, MOVED),
            add([(HALF, REACTED), (HALF, MOVED)]),
        ),
        source="Strang 1963, Arch. Ration. Mech. Anal. 12, 392-402",
    )  # fmt: skip


def concurrent(*, split_columns: bool = False) -> Program:
    """Return Strang splitting whose transport starts from the state before the first half of chemistry.

    Both can run at the same time on different ranks; their changes are added. Transport lacks the first half of
    chemistry in the state on which it acts, so that the order is one. With `split_columns`, columns of the first half
    follow the chemistry of the first half.
    """
    columns = [move(0, HALF, REACTED, REACTED, kernel=COLUMN)] if split_columns else []
    rest = [move(HALF, 1, kernel=COLUMN)] if split_columns else []
    horizontal = _whole_move(split_columns=split_columns, reads=STATE, writes=MOVED)
    return Program(
        "concurrent", 1,
        (
            horizontal, cells(0, HALF, STATE, REACTED), *columns,
            add([(1, REACTED), (1, MOVED), (-1, STATE)]), *rest, cells(HALF, 1),
        ),
    )  # fmt: skip


SPLITTINGS: Final[Mapping[str, Callable[..., Program]]] = {
    "strang": strang, "lie": lie, "symmetric": symmetric, "concurrent": concurrent,
}  # fmt: skip
"""Integrators that have stages of cells alone, by their names in a case."""


def integrator(name: str, *, split_columns: bool = False, reacts: bool = True) -> Program:
    """Return the program of an integrator by its name in a case.

    Parameters
    ----------
    split_columns
        Whether columns are separate stages.
    reacts
        Whether the mechanism has reactions; a splitting without them is transport and columns alone.
    """
    if name == "imex":
        return imex()
    if not reacts:
        return Program(name, 2, _moves(split_columns=split_columns))
    return SPLITTINGS[name](split_columns=split_columns)


UPDATES: Final = "updates"
"""Name of the stage that runs the updates of processes."""


def with_updates(program: Program) -> Program:
    """Return a program that ends with the updates of processes: first order, as Lie splitting."""
    updates = Stage(CELLS, name=UPDATES, changes_history=program.has_history)
    return replace(program, order=1, stages=(*program.stages, updates))


def _moves(reads: str = STATE, writes: str = STATE, *, split_columns: bool) -> tuple[Stage, ...]:
    """Return the stages of transport and columns of a whole step."""
    if not split_columns:
        return (_whole_move(split_columns=False, reads=reads, writes=writes),)
    return (
        move(0, HALF, reads, writes, kernel=COLUMN),
        move(0, 1, writes, writes, kernel=TRANSPORT),
        move(HALF, 1, writes, writes, kernel=COLUMN),
    )


def _whole_move(*, split_columns: bool, reads: str, writes: str) -> Stage:
    """Return the stage with horizontal transport of a whole step."""
    return move(0, 1, reads, writes, kernel=TRANSPORT) if split_columns else move(0, 1, reads, writes)
