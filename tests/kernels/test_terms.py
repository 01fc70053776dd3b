"""Factored sums: their text, evaluated as Python, is the plain sum; and each coefficient is written once."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.cpu.emit import Coefficients, MechanismShape, emit
from airshed.kernels.cpu.template import described
from airshed.kernels.step.rates import rate_table
from airshed.kernels.step.schedule import schedule
from airshed.kernels.terms import Products, Symbol, products, write
from airshed.mechanism import ReactionNetwork
from airshed.mechanism.network import Term

VALUES = {(kind, number): 1.0 + 0.37 * number + 0.11 * "njky".index(kind) for kind in "njky" for number in range(5)}
SYMBOLS = st.sampled_from(sorted(VALUES))
SUMS = st.dictionaries(
    st.lists(SYMBOLS, max_size=5).map(lambda symbols: tuple(sorted(symbols))),
    st.one_of(st.just(1.0), st.floats(-1e3, 1e3).filter(lambda value: abs(value) > 1e-3)),
    max_size=14,
)


def value_of(text: str, coefficients: Coefficients) -> float:
    """What the C++ text means, with packs of one lane."""
    names = {f"{kind}{number}": value for (kind, number), value in VALUES.items()}
    return float(eval(text.replace("pack{}", "0.0"), {"splat": float, "c": coefficients.values, **names}))


def name(symbol: Symbol) -> str:
    return f"{symbol[0]}{symbol[1]}"


def plain(terms: Products) -> tuple[float, float]:
    """The sum of the products, and of their magnitudes."""
    total = magnitude = 0.0
    for key, coefficient in terms.items():
        product = coefficient
        for symbol in key:
            product *= VALUES[symbol]
        total, magnitude = total + product, magnitude + abs(product)
    return total, magnitude


@given(SUMS)
def test_the_factored_sum_is_the_sum(terms: Products) -> None:
    coefficients = Coefficients()
    code = write(terms, name, coefficients)
    total, magnitude = plain(terms)
    assert value_of(code.text, coefficients) == pytest.approx(total, rel=1e-12, abs=1e-13 * magnitude)


@given(SUMS.filter(bool), SYMBOLS)
def test_the_comparison_notices_a_product_too_many(terms: Products, symbol: Symbol) -> None:
    coefficients = Coefficients()
    code = write(terms, name, coefficients)
    total, magnitude = plain({**terms, (*max(terms), symbol, symbol): 1e3})
    if abs(total - plain(terms)[0]) > 1e-6 * magnitude:
        assert value_of(code.text, coefficients) != pytest.approx(total, rel=1e-12, abs=1e-13 * magnitude)


@given(SUMS)
def test_operations_are_counted_as_written(terms: Products) -> None:
    code = write(terms, name, Coefficients())
    assert code.operations == code.text.count(" * ") + code.text.count(" + ")
    unfactored = sum(len(key) for key in terms) + sum(1 for value in terms.values() if value != 1.0)
    assert code.operations <= unfactored + len(terms)


def test_what_stands_everywhere_goes_in_front() -> None:
    terms: Products = {(("k", 0), ("y", 1)): 2.0, (("k", 1), ("y", 1)): 1.0, (("n", 0),): 3.0}
    coefficients = Coefficients()
    assert write(terms, name, coefficients).text == "y1 * (c[0] * k0 + k1) + c[1] * n0"
    assert coefficients.values == [2.0, 3.0]


def test_equal_products_are_added_up(compiled: object, network: Callable[[str], ReactionNetwork]) -> None:
    toy = network("toy")
    table = rate_table(toy)
    number = next(i for i, reaction in enumerate(toy.reactions) if reaction.label == "cube")
    term = Term(1.5, number, (2, 2, 2))
    (key,) = products([term, term], table)
    assert products([term, term], table)[key] == pytest.approx(3.0 * table.rates[number].coefficient)
    assert [kind for kind, _ in key] == ["n", "n", "y", "y", "y"]


def test_a_number_is_kept_once() -> None:
    coefficients = Coefficients()
    assert [coefficients(value) for value in (2.0, 3.0, 2.0)] == ["c[0]", "c[1]", "c[0]"]


def test_generated_text_is_the_same_each_time_and_names_each_reaction(
    network: Callable[[str], ReactionNetwork],
) -> None:
    toy = network("toy")
    order = schedule(toy, 3)
    texts = [emit(toy, order, MechanismShape(8, "double", 4, ("N",))).text for _ in range(2)]
    assert texts[0] == texts[1]
    for reaction in toy.reactions:
        assert described(reaction) in texts[0]
        assert described(reaction).count(f"<{reaction.label}>") == 1
        assert described(replace(reaction, text="A = B\\")) == f"<{reaction.label}> A = B_"
    assert "typedef double real;" in texts[0]
    assert "typedef float real;" in emit(toy, order, MechanismShape(8, "single", 4)).text
