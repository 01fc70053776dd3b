"""Rate expressions: values, text, dependencies, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Call, Expression, Negate, Number, Symbol, depth, walk
from airshed.mechanism.expressions import FUNCTIONS, SYMBOLS, call, dependencies, evaluate, symbol, symbols
from airshed.mechanism.kpp import read_rate

AIR = {"TEMP": 280.0, "PRESS": 9e4, "M": 2.3e19, "O2": 4.8e18, "N2": 1.8e19, "H2O": 3e17, "SUN": 0.5}
SUN = {"sec_zenith": 2.0, "daylight": 1.0}


def parse(text: str) -> Expression:
    """Return a rate, folded except for its first sum."""
    rate = read_rate(f"TEMP + ({text})")
    assert isinstance(rate, Binary)
    return rate.right


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5.7e-34*(TEMP/300.)^(-2.8)*M*O2", 5.7e-34 * (280.0 / 300.0) ** -2.8 * 2.3e19 * 4.8e18),
        ("2.0e-11*EXP(100./T)", 2.0e-11 * math.exp(100.0 / 280.0)),
        ("1.0D-3", 1e-3),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2**-1", 0.5),
        ("8/2/2", 2.0),
        ("7-2-1", 4.0),
        ("2*-3", -6.0),
        ("+.5 + 1.", 1.5),
        ("min(3, 1, 2) + max(1, 5)", 6.0),
        ("pow(2, 10) + sqrt(9) + abs(-1)", 1028.0),
        ("log(exp(1)) + log10(100)", 3.0),
        ("SUN*PRESS", 4.5e4),
        ("PHOTO(1e-2, 0.5)", 1e-2 * math.exp(-0.5 * 2.0)),
    ],
)
def test_values(text: str, value: float) -> None:
    assert evaluate(parse(text), AIR | SUN) == pytest.approx(value, rel=1e-15, abs=0.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["sqrt(-TEMP)", "log(-TEMP)", "TEMP/0", "exp(TEMP*1e300)"])
def test_what_is_no_number_is_not_finite_and_not_warned_of(text: str) -> None:
    assert not math.isfinite(evaluate(read_rate(text), {"TEMP": 300.0}))


def test_photolysis_stops_at_night_whatever_the_secant() -> None:
    rate = parse("3*PHOTO(1e-2, 0.5)")
    daylight, secant = np.array([1.0, 0.5, 0.0, 0.0]), np.array([1.0, 1.0, -1e300, 1e300])
    clear = 3e-2 * math.exp(-0.5)
    values = evaluate(rate, {"sec_zenith": secant, "daylight": daylight})
    np.testing.assert_allclose(values, [clear, clear / 2, 0.0, 0.0], rtol=1e-15)


def test_dependencies_and_symbols() -> None:
    assert dependencies(parse("1e-12")) == frozenset()
    assert dependencies(parse("exp(1/TEMP)*M + O2*H2O")) == {"temperature", "air", "water"}
    assert dependencies(parse("PRESS*PHOTO(1, 2)")) == {"pressure", "photolysis"}
    assert symbols(parse("TEMP*PHOTO(1, 2)")) == {"TEMP", "sec_zenith", "daylight"}
    assert {dependencies(Symbol(name)) for name in SYMBOLS} >= {frozenset({"air"}), frozenset({"photolysis"})}


def test_constants_are_folded() -> None:
    assert parse("2*3 + 4^0.5") == Number(8.0)
    assert parse("(1+1)*TEMP^(3-1)") == Binary("*", Number(2.0), Binary("^", Symbol("TEMP"), Number(2.0)))
    assert fold(Negate(Number(2.0))) == Number(-2.0)
    assert fold(Binary("/", Number(1.0), Number(0.0))) == Binary("/", Number(1.0), Number(0.0))
    assert fold(Call("PHOTO", (Negate(Number(-1.0)), Number(1.0)))) == Call("PHOTO", (Number(1.0), Number(1.0)))


def test_walk_and_depth() -> None:
    tree = Binary("*", Number(2.0), Call("exp", (Negate(Symbol("TEMP")),)))
    assert [type(node) for node in walk(tree)] == [Binary, Number, Call, Negate, Symbol]
    assert depth(tree) == 4


def _trees() -> st.SearchStrategy[Expression]:
    leaves = st.floats(0.1, 9.0).map(Number) | st.sampled_from(sorted(SYMBOLS)).map(Symbol)

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        binary = st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "^"]), inner, inner)
        calls = st.builds(lambda a, b: Call("min", (a, b)), inner, inner) | inner.map(lambda a: Call("abs", (a,)))
        return binary | inner.map(Negate) | calls

    return st.recursive(leaves, grow, max_leaves=12)


@given(_trees())
def test_text_reads_back_as_the_same_value(tree: Expression) -> None:
    air = dict.fromkeys(SYMBOLS, 1.7)
    with np.errstate(all="ignore"):
        value = evaluate(tree, air)
        try:
            again = evaluate(parse(str(tree)), air)
        except MechanismError as error:
            if "not a finite number" not in str(error):
                raise
            return
    assert again == value or (math.isnan(again) and math.isnan(value))


@pytest.mark.parametrize(
    ("build", "parts"),
    [
        (lambda: symbol("TMP"), ["'TMP'", "'TEMP'", "H2O"]),
        (lambda: call("expo", (Number(1.0),)), ["'expo'", "'EXP'", "photo"]),
        (lambda: call("exp", ()), ["exp takes 1 argument, not 0"]),
        (lambda: call("min", (Number(1.0),)), ["min takes 2 or more arguments, not 1"]),
        (lambda: call("photo", (Symbol("TEMP"), Number(1.0))), ["two constants"]),
        (lambda: evaluate(Symbol("H2O"), {}), ["H2O", "water vapour", "molecules cm-3"]),
        (lambda: evaluate(Call("PHOTO", (Number(1.0), Number(1.0))), {}), ["daylight"]),
    ],
)
def test_refusals(build, parts) -> None:
    with pytest.raises(MechanismError) as error:
        build()
    for part in parts:
        assert part in str(error.value)


def test_names_in_any_case_of_letters() -> None:
    assert symbol("temp") == symbol("T") == Symbol("TEMP")
    for name in FUNCTIONS:
        arguments = (Number(1.0),) * FUNCTIONS[name].least
        assert call(name.lower(), arguments) is call(name, arguments)
        if name not in ("POW", "PHOTO"):
            assert call(name, arguments) is Call(name.lower(), arguments)
    assert call("PHOTO", (Number(1.0),) * 2) is Call("PHOTO", (Number(1.0),) * 2)
    assert call("pow", (Symbol("TEMP"), Number(2.0))) is Binary("^", Symbol("TEMP"), Number(2.0))
