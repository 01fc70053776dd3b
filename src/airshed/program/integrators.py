"""The integrators: each is the list of the stages of a step, with its order and its source.

Where transport along columns is apart from horizontal transport (``apart``), half a step along columns stands on
either side of the horizontal one.
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
from airshed.program.weights import FORMULAS

REACTED, MOVED = "reacted", "moved"


def imex() -> Program:
    """Return the two-step formula over everything: transport explicit, columns with their chemistry implicit.

    One fused stage: one pass through memory.
    """
    return Program(
        "imex", 2, (move(0, 1, kernel=EVERYTHING, weights="two-step"),),
        source="Verwer, Blom & Hundsdorfer 1996, Appl. Numer. Math. 20, 191-209",
    )  # fmt: skip


def strang(*, apart: bool = False) -> Program:
    """Return chemistry for half a step, transport and columns for the whole, chemistry for the other half.

    Chemistry comes last, since the fastest process should: what is emitted is then in balance with it where a step ends
    (Sportisse 2000, J. Comput. Phys. 161, 140-168).
    """
    return Program(
        "strang", 2, (cells(0, HALF), *_moves(apart=apart), cells(HALF, 1)),
        source="Strang 1968, SIAM J. Numer. Anal. 5, 506-517",
    )  # fmt: skip


def lie(*, apart: bool = False) -> Program:
    """Return transport and columns for a step, then chemistry for a step: half of the chemistry calls of Strang's."""
    return Program(
        "lie", 1, (*_moves(apart=apart), cells(0, 1)), source="Trotter 1959, Proc. Am. Math. Soc. 10, 545-551"
    )


def symmetric(*, apart: bool = False) -> Program:
    """Return the mean of both orders, chemistry before and after transport and columns.

    Symmetrically weighted splitting: both halves start from the same state. Their stages alternate, so that chemistry
    and transport run at once on two groups of ranks.
    """
    return Program(
        "symmetric", 2,
        (
            *_moves(STATE, MOVED, apart=apart), cells(0, 1, STATE, REACTED),
            *_moves(REACTED, REACTED, apart=apart), cells(0, 1, MOVED, MOVED),
            add([(HALF, REACTED), (HALF, MOVED)]),
        ),
        source="Strang 1963, Arch. Ration. Mech. Anal. 12, 392-402",
    )  # fmt: skip


def concurrent(*, apart: bool = False) -> Program:
    """Return Strang splitting whose transport starts from the state before the first half of chemistry.

    Both can run at once on different ranks; their changes are added. Transport then acts on a state that is half a step
    of chemistry too early: first order. With columns apart, those of the first half go with the chemistry.
    """
    columns = [move(0, HALF, REACTED, REACTED, kernel=COLUMN)] if apart else []
    rest = [move(HALF, 1, kernel=COLUMN)] if apart else []
    horizontal = _whole_move(apart=apart, reads=STATE, writes=MOVED)
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
"""Integrators with chemistry of cells in stages of its own."""


def integrator(name: str, *, apart: bool = False, reacts: bool = True) -> Program:
    """Return the program of an integrator by its name in a case.

    Parameters
    ----------
    apart
        Whether columns are apart from horizontal transport.
    reacts
        Whether there is chemistry; a splitting without it is transport and columns alone.
    """
    if name == "imex":
        return imex()
    if not reacts:
        return Program(name, 2, _moves(apart=apart))
    return SPLITTINGS[name](apart=apart)


UPDATES: Final = "updates"
"""Name of the stage that runs the updates of processes."""


def with_updates(program: Program) -> Program:
    """Return a program that ends with the updates of processes: first order, as Lie splitting."""
    history = any(each.weights in FORMULAS and FORMULAS[each.weights].history for each in program.stages)
    updates = Stage(CELLS, name=UPDATES, changes_history=history)
    return replace(program, order=1, stages=(*program.stages, updates))


def _moves(reads: str = STATE, writes: str = STATE, *, apart: bool) -> tuple[Stage, ...]:
    if not apart:
        return (_whole_move(apart=False, reads=reads, writes=writes),)
    return (
        move(0, HALF, reads, writes, kernel=COLUMN),
        move(0, 1, writes, writes, kernel=TRANSPORT),
        move(HALF, 1, writes, writes, kernel=COLUMN),
    )


def _whole_move(*, apart: bool, reads: str, writes: str) -> Stage:
    return move(0, 1, reads, writes, kernel=TRANSPORT) if apart else move(0, 1, reads, writes)
