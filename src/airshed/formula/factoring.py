"""Sums of products, factored to reduce loads and multiplications.

Factoring is greedy: the most frequent factor is placed in front of the sum of the remaining products.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from airshed.formula.tree import ZERO, Binary, Expression, Number

LONGEST_SUM: Final = 6
"""Longer sums are split, since each addition in a chain waits for the previous one."""

Key = tuple[Any, ...]
"""Factors of a product, in order; a power repeats its factor. Ties are decided by this order."""


def factored(products: Mapping[Key, float], symbol: Callable[[Any], Expression]) -> Expression:
    """Return a sum of products of a number and factors; symbol: function that returns the formula of a factor."""
    return total(_summands(products, symbol))


def total(summands: Sequence[Expression]) -> Expression:
    """Return a sum, added from the left."""
    return reduce(lambda left, right: Binary("+", left, right), summands) if summands else ZERO


def product(factors: Sequence[Expression]) -> Expression:
    """Return a product, multiplied from the left."""
    return reduce(lambda left, right: Binary("*", left, right), factors)


def _summands(products: Mapping[Key, float], symbol: Callable[[Any], Expression]) -> list[Expression]:
    counts = Counter(factor for key in products for factor in set(key))
    best = min(counts, key=lambda factor: (-counts[factor], factor), default=None)
    if best is None or counts[best] < 2:
        return _in_pieces([_product(key, products[key], symbol) for key in sorted(products)])
    inside = {_without(key, best): number for key, number in products.items() if best in key}
    outside = {key: number for key, number in products.items() if best not in key}
    front = Binary("*", symbol(best), total(_summands(inside, symbol)))
    return [front, *_summands(outside, symbol)]


def _without(key: Key, factor: Any) -> Key:
    left = list(key)
    left.remove(factor)
    return tuple(left)


def _product(key: Key, number: float, symbol: Callable[[Any], Expression]) -> Expression:
    front = [Number(number)] if number != 1.0 or not key else []
    return product([*front, *map(symbol, key)])


def _in_pieces(summands: Sequence[Expression]) -> list[Expression]:
    if len(summands) <= LONGEST_SUM:
        return list(summands)
    return [total(summands[start : start + LONGEST_SUM]) for start in range(0, len(summands), LONGEST_SUM)]
