"""Factored sums: their value, and that of their text, are the plain sum; each coefficient is written once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.formula import cpp, evaluate
from airshed.formula.dialect import PACKS
from airshed.formula.factoring import factored, product, total
from airshed.formula.tree import ONE, ZERO, Expression, Number, Symbol, operations
from airshed.kernels.cpp import Coefficients

Factor = tuple[str, int]
Products = dict[tuple[Factor, ...], float]

VALUES = {(kind, number): 1.0 + 0.37 * number + 0.11 * "njky".index(kind) for kind in "njky" for number in range(5)}
FACTORS = st.sampled_from(sorted(VALUES))
SUMS = st.dictionaries(
    st.lists(FACTORS, max_size=5).map(lambda factors: tuple(sorted(factors))),
    st.one_of(st.just(1.0), st.floats(-1e3, 1e3).filter(lambda value: abs(value) > 1e-3)),
    max_size=14,
)


def symbol(factor: Factor) -> Symbol:
    return Symbol(f"{factor[0]}{factor[1]}")


def written(tree: Expression, coefficients: Coefficients) -> str:
    """The C++ of a sum, its numbers from a table."""
    return cpp.inline(tree, str, replace(PACKS, number=coefficients))


def values_of(tree: Expression) -> list[float]:
    """Return the value of a tree, and the value of its C++ text with packs of one lane."""
    names = {f"{kind}{number}": value for (kind, number), value in VALUES.items()}
    coefficients = Coefficients()
    text = written(tree, coefficients)
    meaning = eval(text.replace("pack{}", "0.0"), {"splat": float, "c": coefficients.values, **names})
    return [float(evaluate(tree, names)), float(meaning)]


def plain(terms: Products) -> tuple[float, float]:
    """The sum of the products, and of their magnitudes."""
    whole = magnitude = 0.0
    for key, coefficient in terms.items():
        term = coefficient
        for factor in key:
            term *= VALUES[factor]
        whole, magnitude = whole + term, magnitude + abs(term)
    return whole, magnitude


@given(SUMS)
def test_the_factored_sum_is_the_sum(terms: Products) -> None:
    whole, magnitude = plain(terms)
    assert values_of(factored(terms, symbol)) == [pytest.approx(whole, rel=1e-12, abs=1e-13 * magnitude)] * 2


@given(SUMS.filter(bool), FACTORS)
def test_the_comparison_notices_a_product_too_many(terms: Products, factor: Factor) -> None:
    whole, magnitude = plain({**terms, (*max(terms), factor, factor): 1e3})
    if abs(whole - plain(terms)[0]) > 1e-6 * magnitude:
        for value in values_of(factored(terms, symbol)):
            assert value != pytest.approx(whole, rel=1e-12, abs=1e-13 * magnitude)


@given(SUMS)
def test_operations_are_counted_as_written(terms: Products) -> None:
    tree = factored(terms, symbol)
    text = written(tree, Coefficients())
    assert operations(tree) == text.count(" * ") + text.count(" + ")
    unfactored = sum(len(key) for key in terms) + sum(1 for value in terms.values() if value != 1.0)
    assert operations(tree) <= unfactored + len(terms)


def test_what_stands_everywhere_goes_in_front() -> None:
    terms: Products = {(("k", 0), ("y", 1)): 2.0, (("k", 1), ("y", 1)): 1.0, (("n", 0),): 3.0}
    coefficients = Coefficients()
    assert written(factored(terms, symbol), coefficients) == "y1 * (c[0] * k0 + k1) + c[1] * n0"
    assert coefficients.values == [2.0, 3.0]


def test_long_sums_are_added_in_pieces() -> None:
    terms: Products = {(("y", number),): 1.0 for number in range(8)}
    tree = factored(terms, symbol)
    assert written(tree, Coefficients()) == "y0 + y1 + y2 + y3 + y4 + y5 + (y6 + y7)"
    assert factored({}, symbol) is total([]) is ZERO
    assert factored({(): 1.0}, symbol) is product([ONE]) is ONE
    assert written(factored({(): 2.0}, symbol), Coefficients()) == "splat(c[0])"
    assert factored({(("y", 0),) * 2: 2.0}, symbol) is product([Number(2.0), Symbol("y0"), Symbol("y0")])


def test_a_number_is_kept_once() -> None:
    coefficients = Coefficients()
    assert [coefficients(value) for value in (2.0, 3.0, 2.0)] == ["c[0]", "c[1]", "c[0]"]
