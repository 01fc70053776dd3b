"""Rate constants: the vector functions of the kernel against NumPy, and the factored table against the plain rates."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Number, Symbol
from airshed.kernels.backends.cpu.kernel import WIDTH, StepKernel, compile_mechanism
from airshed.kernels.host import address, aligned_zeros
from airshed.kernels.rates import REFERENCE_DENSITY, RateTable, rate_code, rate_table
from airshed.mechanism import Reaction, ReactionNetwork, Species, load_mechanism
from airshed.mechanism.expressions import Parameter, call, evaluate
from airshed.mechanism.network import rates

from .conftest import toy_of_all_kinds

Compiled = Callable[..., StepKernel]
Inputs = Mapping[str, np.ndarray]

OXYGEN, NITROGEN = 0.2095, 0.7808

FUNCTIONS = """
#DEFVAR
A = IGNORE;
#EQUATIONS
<exp_cold>  A = 2 A : 1 + exp(-13330/TEMP);
<exp_least> A = 2 A : exp(-2e5/TEMP);
<exp_most>  A = 2 A : exp(1.2e5/TEMP);
<exp_zero>  A = 2 A : 1e-20 + exp(1e-14*TEMP);
<log>       A = 2 A : log(TEMP);
<log_one>   A = 2 A : 2 + log(TEMP/273);
<log_small> A = 2 A : 1000 + log(1e-300*TEMP);
<log_large> A = 2 A : log(1e300*TEMP);
<log10>     A = 2 A : log10(M);
<power>     A = 2 A : 1 + (TEMP/300)^(-2.8);
<power_air> A = 2 A : 1e-30 + M^1.7;
<power_var> A = 2 A : (TEMP/100)^(TEMP/20);
<integer>   A = 2 A : 1 + (TEMP/300)^(-7);
<tiny>      A = 2 A : 2.6e-54 + 2.6e-54*exp(1000/TEMP);
<sqrt>      A = 2 A : sqrt(TEMP) + 1;
<troe>      A = 2 A : 8e-12*0.6^(1/(1 + (log10(1e-31*M/8e-12)/0.75)^2));
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> StepKernel:
    path = tmp_path_factory.mktemp("mechanism") / "functions.kpp"
    path.write_text(FUNCTIONS)
    return compile_mechanism(load_mechanism(path), 1)


def inputs(width: int, seed: int = 0, *, night: bool = False) -> dict[str, np.ndarray]:
    """Random air of one pack: the input of the rate functions of the kernel."""
    random = np.random.default_rng(seed)
    light = np.zeros(width) if night else random.uniform(0.05, 1.0, width)
    return {
        "temperature": random.uniform(180.0, 330.0, width),
        "density": 10.0 ** random.uniform(16.0, 19.5, width),
        "water": random.uniform(0.0, 0.04, width),
        "secant": np.full(width, -1e5) if night else random.uniform(1.0, 100.0, width),
        "light": light,
    }


def environment(given: Inputs) -> dict[str, np.ndarray]:
    density = given["density"]
    with np.errstate(divide="ignore"):
        sun = np.where(given["light"] > 0.0, 1.0 / given["secant"], 0.0)
    return {
        "TEMP": given["temperature"],
        "M": density,
        "O2": OXYGEN * density,
        "N2": NITROGEN * density,
        "H2O": given["water"] * density,
        "PRESS": density * 1e6 * 1.380649e-23 * given["temperature"],
        "SUN": sun,
        "sec_zenith": given["secant"],
        "daylight": given["light"],
    }


def kernel_functions(kernel: StepKernel, given: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Rate functions and photolysis functions of the compiled code, each (function, lane)."""
    width, table = kernel.shape.width, kernel.source.table
    packed = []
    for name in ("temperature", "density", "water", "secant", "light"):
        array = aligned_zeros((width,), np.float64)
        array[...] = given[name]
        packed.append(array)
    found = aligned_zeros((len(table.functions) + 1, width), np.float64)
    light = aligned_zeros((len(table.photolyses) + 1, width), np.float64)
    kernel.functions.airshed_rates(*map(address, packed), OXYGEN, NITROGEN, None, address(found), address(light))
    return found[:-1], light[:-1]


def combine(table: RateTable, functions: np.ndarray, light: np.ndarray, density: np.ndarray) -> np.ndarray:
    """Rates for mixing ratios, c n^p f_1 ... J_1 ..., (reaction, lane)."""
    result = []
    for rate in table.rates:
        value = rate.coefficient * (density / REFERENCE_DENSITY) ** rate.air_power
        for number in rate.functions:
            value = value * functions[number]
        for number in rate.photolyses:
            value = value * light[number]
        result.append(value)
    return np.array(result).reshape(len(table.rates), -1)


def plain(network: ReactionNetwork, given: Inputs) -> np.ndarray:
    """The same from the rate constants themselves: k N^(m-1)."""
    orders = np.array([len(reactants) for reactants in network.reactant_indices])
    return rates(network, environment(given)) * given["density"] ** (orders[:, None] - 1.0)


@pytest.mark.parametrize("night", [False, True])
@pytest.mark.parametrize(("name", "levels"), [("emep", 3), ("toy", 2)])
def test_rates_of_the_kernel_equal_those_of_the_mechanism(
    compiled: Compiled, name: str, levels: int, night: bool
) -> None:
    kernel = compiled(name, levels)
    for seed in range(20):
        given = inputs(kernel.shape.width, seed, night=night)
        found = combine(kernel.source.table, *kernel_functions(kernel, given), given["density"])
        np.testing.assert_allclose(found, plain(kernel.network, given), rtol=3e-14, atol=0.0)


def test_a_changed_rate_is_noticed(compiled: Compiled) -> None:
    kernel, given = compiled("toy", 2), inputs(WIDTH)
    found = combine(kernel.source.table, *kernel_functions(kernel, given), given["density"])
    colder = {**given, "temperature": given["temperature"] - 1e-9}
    with pytest.raises(AssertionError, match="Mismatched"):
        np.testing.assert_allclose(found, plain(kernel.network, colder), rtol=3e-14, atol=0.0)


def test_no_light_at_night_whatever_the_secant(compiled: Compiled) -> None:
    kernel = compiled("emep", 3)
    for secant in (-1e5, -1.0, 0.0, 1e308):
        given = {**inputs(WIDTH, night=True), "secant": np.full(WIDTH, secant)}
        assert np.all(kernel_functions(kernel, given)[1] == 0.0)


@pytest.mark.compiles
def test_vector_functions_are_as_good_as_those_of_numpy(functions: StepKernel) -> None:
    """exp, log and powers over all magnitudes: the error of exp(x) and x^y is that of their argument."""
    labels = [reaction.label for reaction in functions.network.reactions]
    worst = dict.fromkeys(labels, 0.0)
    for seed in range(100):
        given = inputs(functions.shape.width, seed)
        found = combine(functions.source.table, *kernel_functions(functions, given), given["density"])
        with np.errstate(under="ignore"):
            expected = plain(functions.network, given)
        for label, one, other in zip(labels, found, expected, strict=True):
            alive = np.abs(other) > 1e-300
            error = np.abs(one - other) / np.where(alive, np.abs(other), 1.0)
            worst[label] = max(worst[label], float(error.max()))
    for label, error in worst.items():
        sensitive = label in ("exp_least", "exp_most", "power_var", "power_air")  # arguments of some hundreds
        assert error < (3e-13 if sensitive else 2e-15), label


@pytest.mark.parametrize("night", [False, True])
def test_single_precision_holds_rates_of_any_size(night: bool) -> None:
    """Powers of air reach 1e57, their coefficients 1e-41; stored values stay in the range of single precision."""
    kernel = toy_of_all_kinds("single")
    for seed in range(20):
        given = inputs(kernel.shape.width, seed, night=night)
        functions, light = kernel_functions(kernel, given)
        table = kernel.source.table
        rounded = [replace(r, coefficient=float(np.float32(r.coefficient))) for r in table.rates]
        found = combine(
            RateTable(table.usual, rounded, table.functions, table.photolyses), functions, light, given["density"]
        )
        expected = plain(kernel.network, given)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-20)


# ---- the table of coefficients and shared functions, without any compiler --------------------------------------------

FACTORS = st.sampled_from(
    [
        Symbol("M"),
        Symbol("O2"),
        Symbol("H2O"),
        Binary("^", Symbol("M"), Number(2.0)),
        Binary("/", Number(300.0), Symbol("TEMP")),
        call("EXP", (Binary("/", Number(-1370.0), Symbol("TEMP")),)),
        Binary("+", Number(1.0), Binary("*", Number(1e-19), Symbol("M"))),
        call("PHOTO", (Number(1e-3), Number(0.7))),
        call("PHOTO", (Number(2e-5), Number(1.4))),
        Number(3.7e-12),
    ]
)


@given(
    factors=st.lists(FACTORS, min_size=1, max_size=5),
    divisors=st.lists(FACTORS, max_size=2),
    order=st.integers(0, 3),
    negative=st.booleans(),
)
def test_the_factored_rate_equals_the_rate(factors: list, divisors: list, order: int, negative: bool) -> None:
    expression = factors[0]
    for factor in factors[1:]:
        expression = Binary("*", expression, factor)
    for divisor in divisors:
        expression = Binary("/", expression, divisor)
    given = inputs(4, order)
    air = environment(given)
    table = RateTable()
    table.add(fold(expression), order)
    functions = np.array([evaluate(function, air) for function in table.functions]).reshape(-1, 4)
    light = np.array([given["light"] * np.exp(-b * given["secant"]) for b in table.photolyses]).reshape(-1, 4)
    expected = np.broadcast_to(evaluate(expression, air), 4) * given["density"] ** (order - 1.0)
    np.testing.assert_allclose(combine(table, functions, light, given["density"])[0], expected, rtol=1e-13)
    assert not negative or table.rates[0].air_power >= 0


def test_functions_and_photolyses_are_shared(network: Callable[[str], ReactionNetwork]) -> None:
    """EMEP has 135 reactions, of which many differ by a coefficient alone."""
    table = rate_table(network("emep"))
    assert len(table.rates) == len(network("emep").reactions)
    assert len(table.functions) == len(set(map(str, table.functions))) < 45
    assert len(table.photolyses) == len(set(table.photolyses)) < 20


def test_a_factor_of_two_costs_no_digit() -> None:
    """A huge function is divided by a power of two: the product has the same bits."""
    table = RateTable()
    expression = Binary("*", Symbol("O2"), Symbol("N2"))
    table.add(expression, 1)
    (function,), rate = table.functions, table.rates[0]
    assert math.frexp(rate.coefficient)[0] == 0.5
    air = {"O2": 4.9e18, "N2": 1.87e19}
    assert rate.coefficient * evaluate(function, air) == evaluate(expression, air)
    assert 1e-3 < evaluate(function, air) < 1e3


def test_the_arguments_of_a_photolysis_are_constants(tmp_path: Path) -> None:
    path = tmp_path / "bad.kpp"
    path.write_text("#DEFVAR\nA = IGNORE;\n#EQUATIONS\n<x> A = 2 A : PHOTO(TEMP, 1);\n")
    with pytest.raises(Exception, match="two constants"):
        load_mechanism(path)


def test_a_division_by_zero_is_left_to_the_check_of_rates() -> None:
    """The table neither divides by the number nor loses a factor, nor does the code."""
    sun, zero = Symbol("SUN"), Number(0.0)
    table = RateTable()
    for rate in (
        Binary("/", sun, zero),
        Binary("*", Number(1e200), Number(1e200)),
        Binary("^", Number(1e60), Number(8.0)),
    ):
        table.add(rate, 1)
    assert [rate.coefficient for rate in table.rates] == [1.0, 1.0, 1.0]
    assert table.functions[0] == Binary("/", sun, zero)
    assert rate_code([Binary("/", sun, zero)])[0] == ["const dpack e0 = sun / 0.0;"]
    assert rate_code([Binary("/", sun, Number(4.0))])[0] == ["const dpack e0 = sun * 0.25;"]


def test_more_reactants_than_numbers_reach_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.kpp"
    path.write_text(f"#DEFVAR\nA = IGNORE;\n#EQUATIONS\n<x> {' + '.join(['A'] * 400)} = A : 1;\n")
    with pytest.raises(MechanismError, match=r"many.kpp:4:1: <x> has 400 reactants"):
        rate_table(load_mechanism(path))


@pytest.mark.compiles
def test_what_a_mechanism_leaves_open_is_a_field_of_the_step(compiled: Compiled) -> None:
    open_network = replace(
        load_mechanism("tracer"), species=(Species("A"),), name="open",
        reactions=(Reaction("J", (("A", 1.0),), (), Binary("*", Number(2.0), Parameter("j_A"))),),
    )  # fmt: skip
    kernel = compile_mechanism(open_network, 1)
    given = inputs(kernel.shape.width)
    packed = [np.ascontiguousarray(given[name]) for name in ("temperature", "density", "water", "secant", "light")]
    memory = [aligned_zeros((kernel.shape.width,), np.float64) for _ in packed]
    for place, values in zip(memory, packed, strict=True):
        place[...] = values
    parameters, found, light = (aligned_zeros((2, kernel.shape.width), np.float64) for _ in range(3))
    parameters[0] = np.arange(kernel.shape.width)
    kernel.functions.airshed_rates(
        *map(address, memory), OXYGEN, NITROGEN, address(parameters), address(found), address(light)
    )
    total = kernel.source.table.rates[0].coefficient * found[0]
    np.testing.assert_allclose(total, 2.0 * np.arange(kernel.shape.width), rtol=1e-15)
    assert compile_mechanism(open_network.bind({"j_A": 3.0}), 1).source.table.functions == []
