"""Production and loss of one species as a sum of products, factored so that each value is loaded and multiplied rarely.

A product is a number times symbols: ``("y", i)`` mixing ratio of species i, ``("k", j)`` rate function j, ``("j", m)``
photolysis function m, ``("n", 0)`` relative air density. Factoring is greedy: the symbol that stands in most products
goes in front of the sum of what is left of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from airshed.kernels.step.rates import RateTable
from airshed.mechanism.network import Term

Symbol = tuple[str, int]
Products = dict[tuple[Symbol, ...], float]

_LONGEST_SUM = 6  # longer sums are added up in pieces, since a chain of additions waits for each one


@dataclass(frozen=True)
class Code:
    """C++ text of an expression and the operations that it takes."""

    text: str
    operations: int


def products(terms: Iterable[Term], table: RateTable) -> Products:
    """Return terms as products of symbols, equal ones added up."""
    collected: Products = {}
    for term in terms:
        rate = table.rates[term.reaction]
        symbols: list[Symbol] = [("n", 0)] * rate.air_power
        symbols += [("k", function) for function in rate.functions]
        symbols += [("j", photolysis) for photolysis in rate.photolyses]
        symbols += [("y", species) for species in term.factors]
        key = tuple(sorted(symbols))
        collected[key] = collected.get(key, 0.0) + term.coefficient * rate.coefficient
    return collected


def write(terms: Products, name: Callable[[Symbol], str], number: Callable[[float], str]) -> Code:
    """Return the factored sum as C++; `name` gives each symbol's text, `number` that of a coefficient."""
    if not terms:
        return Code("pack{}", 0)
    counts = Counter(symbol for key in terms for symbol in set(key))
    best = min(counts, key=lambda symbol: (-counts[symbol], symbol), default=None)
    if best is None or counts[best] < 2:
        return _plain_sum([_write_product(key, terms[key], name, number) for key in sorted(terms)])
    inside: Products = {_without(key, best): value for key, value in terms.items() if best in key}
    outside: Products = {key: value for key, value in terms.items() if best not in key}
    factored = write(inside, name, number)
    front = Code(f"{name(best)} * ({factored.text})", factored.operations + 1)
    if not outside:
        return front
    rest = write(outside, name, number)
    return Code(f"{front.text} + {rest.text}", front.operations + rest.operations + 1)


def _without(key: tuple[Symbol, ...], symbol: Symbol) -> tuple[Symbol, ...]:
    left = list(key)
    left.remove(symbol)
    return tuple(left)


def _write_product(
    key: tuple[Symbol, ...], value: float, name: Callable[[Symbol], str], number: Callable[[float], str]
) -> Code:
    factors = [name(symbol) for symbol in key]
    if value != 1.0 or not factors:
        factors.insert(0, number(value))
    if len(factors) == 1 and not key:
        return Code(f"splat({factors[0]})", 0)
    return Code(" * ".join(factors), len(factors) - 1)


def _plain_sum(parts: Sequence[Code]) -> Code:
    operations = sum(part.operations for part in parts) + len(parts) - 1
    texts = [part.text for part in parts]
    if len(texts) <= _LONGEST_SUM:
        return Code(" + ".join(texts), operations)
    pieces = [texts[start : start + _LONGEST_SUM] for start in range(0, len(texts), _LONGEST_SUM)]
    return Code(" + ".join(f"({' + '.join(piece)})" for piece in pieces), operations)
