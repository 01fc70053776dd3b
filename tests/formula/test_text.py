"""Text of formulas reads back as the same tree, by the reader of people's formulas."""

import pytest
from hypothesis import given

from airshed.formula import trace, where
from airshed.formula.evaluate import fold
from airshed.formula.parse import parse
from airshed.formula.text import text
from airshed.formula.tree import Binary, Expression, NamedValue, Negate, Number, Symbol, rewrite

from .trees import any_trees


def read(written: str) -> Expression:
    """Return the tree of a text, with negative numbers as one node."""
    return rewrite(parse(written, where="key").tree, _signed)


def _signed(node: Expression) -> Expression:
    return Number(-node.operand.value) if isinstance(node, Negate) and isinstance(node.operand, Number) else node


@given(any_trees(8))
def test_text_reads_back(tree: Expression) -> None:
    assert read(text(tree)) is rewrite(tree, _signed)


@pytest.mark.parametrize(
    "written",
    [
        "a - (b - c)", "a - b - c", "a/(b*c)", "a/b*c", "a%b", "-a**2.0",
        "(-a)**2.0", "a**b**c", "(a**b)**c", "a**(-b)",
        "-(a + b)", "-a + b", "a*-b", "a*(b + c)", "min(a, b, c) + exp(-a)", "where(a < b, c, 0.0)", "(a < b) + c",
        "a + b < c", "(a < b) < c", "a < b and b < c", "(a or b) and c", "not (a and b)", "not a < b", "-(a < b)",
        "1e-300", "1e999", "-1e999", "a**(-2.0)",
    ],
)  # fmt: skip
def test_brackets_stand_where_they_must(written: str) -> None:
    assert text(read(written)) == written


def test_names_that_are_none_are_in_quotes() -> None:
    class QuotedName(NamedValue):
        """A name of any text."""

    assert text(Binary("*", QuotedName("k het"), Symbol("PHOTO.NO2(3)"))) == '"k het"*PHOTO.NO2(3)'
    assert str(Number(-2.0)) == "-2.0"


def test_a_formula_is_shown_as_people_write_it() -> None:
    (washout,) = trace(lambda a, rain: where(rain > 0.0, a * (rain * 3600.0) ** 0.79, 0.0)).outputs
    assert str(washout) == "where(rain > 0.0, a*(rain*3600.0)**0.79, 0.0)"
    assert str(fold(Binary("*", Binary("+", Number(1.0), Number(2.0)), Symbol("a")))) == "3.0*a"
