"""Covering arrays: few rows in which each pair of levels of two factors occurs that can occur at all."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product

Row = dict[str, str]
Factors = Mapping[str, Sequence[str]]
Normal = Callable[[Row], Row]
Pair = tuple[tuple[str, str], tuple[str, str]]

_CANDIDATES = 40
"""Random rows among which each row of the array is chosen: many new pairs for its cost."""


def pairs_of(row: Row) -> set[Pair]:
    """Return the pairs of levels in a row."""
    return set(combinations(row.items(), 2))


def possible_pairs(factors: Factors, deciding: Sequence[str], normal: Normal) -> set[Pair]:
    """Return all pairs of levels that normal rows have.

    normal    replaces the levels of a row that do not go with its levels of deciding factors
    deciding  names of these factors
    """
    found: set[Pair] = set()
    others = [name for name in factors if name not in deciding]
    for one, other in combinations(others, 2):
        varied = [*deciding, one, other]
        for levels in product(*(factors[name] for name in varied)):
            row = {name: factors[name][0] for name in factors} | dict(zip(varied, levels, strict=True))
            found |= pairs_of(normal(row))
    return found


def covering_rows(
    factors: Factors, deciding: Sequence[str], normal: Normal, cost: Callable[[Row], float], seed: int = 1
) -> list[Row]:
    """Return normal rows in which each possible pair of levels occurs, as cheap as can be found quickly.

    cost  of a row;  seed  other rows for another one
    """
    dice, rows = random.Random(seed), []
    missing = possible_pairs(factors, deciding, normal)
    while missing:
        candidates = [normal(_filled(factors, start, dice)) for start in _starts(missing, dice)]
        rows.append(max(candidates, key=lambda row: len(pairs_of(row) & missing) / cost(row) ** 0.5))
        missing -= pairs_of(rows[-1])
    return rows


def _starts(missing: set[Pair], dice: random.Random) -> Iterator[Row]:
    """Yield pairs that are still missing; the first one in order is always among them."""
    ordered = sorted(missing)
    yield dict(ordered[0])
    yield from (dict(dice.choice(ordered)) for _ in range(_CANDIDATES))


def _filled(factors: Factors, start: Row, dice: random.Random) -> Row:
    return {name: start.get(name, dice.choice(factors[name])) for name in factors}
