"""The side file of a mechanism: formulas and functions in Python for missing definitions of its rates."""

import re
import tomllib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.mechanism import inspect_mechanism, load_mechanism, rates
from airshed.mechanism.describe import convert
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.network import ReactionNetwork

MECHANISM = """#DEFVAR
NO = IGNORE; NO2 = IGNORE; O3 = IGNORE;
#DEFFIX
CH4 = IGNORE;
#INLINE F90_RATES
REAL FUNCTION GCARR_ac(a, c)
#ENDINLINE
#EQUATIONS
<1> NO = NO2 : GCARR_ac(1e-12, 300.0);
<2> NO2 + hv = NO : j_NO2;
<3> O3 + hv = NO : J(3) + J(ip_O3);
<4> O3 + CH4 = NO : k_het(0.1, 2.);
<5> O3 = NO2 : k_x + k_x*k_y;
"""
SIDE = """j_NO2 = "8e-3*SUN"
"GCARR_AC(a, C)" = "a*exp(c/TEMP)"  # in any case of letters
"J(3)" = 1.5e-5
"j(IP_o3)" = "2*j_NO2"
CH4 = "1.8e-6*M"
"k_het(gamma, mass)" = { python = "uptake.py:k_het" }
k_x = { python = "uptake.py:k_x" }
k_y = "base^2"
base = "ARR2(2, 0)"
"""
UPTAKE = """
import numpy as np
def k_het(gamma, mass, TEMP, m=None):
    return gamma*mass*np.sqrt(TEMP)
def k_x(**air):
    return air["M"]*0 + 3.0
def wrong(TEMP):
    return 1/0
def infinite(TEMP):
    return TEMP*np.inf
def shape(TEMP):
    return np.zeros(7)
def strange(pH):
    return 1.0
def asleep(SUN):
    return 1.0
"""
AIR = {"TEMP": np.array([250.0, 300.0]), "M": np.array([1e19, 2e19]), "SUN": np.array([0.0, 0.5])}


def allowed(path: Path) -> ReactionNetwork:
    return load_mechanism(path, allow_code=True)


@pytest.fixture
def files(write):
    """Return a function that writes mechanism, side file and Python file, and gives the mechanism's path."""

    def to_files(side: str = SIDE, mechanism: str = MECHANISM) -> Path:
        write(UPTAKE, "uptake.py")
        write(side, "test.rates.toml")
        return write(mechanism, "test.eqn")

    return to_files


def test_every_kind_of_entry(files) -> None:
    net = allowed(files())
    temperature, air, sun = AIR["TEMP"], AIR["M"], AIR["SUN"]
    values = rates(net, AIR)
    np.testing.assert_allclose(values[0], 1e-12 * np.exp(300.0 / temperature), rtol=1e-14)
    np.testing.assert_allclose(values[1], 8e-3 * sun)
    np.testing.assert_allclose(values[2], 1.5e-5 + 2 * 8e-3 * sun)
    np.testing.assert_allclose(values[3], 0.1 * 2.0 * np.sqrt(temperature) * 1.8e-6 * air)
    np.testing.assert_allclose(values[4], 3.0 + 3.0 * 4.0)
    assert net.open_parameters == ()
    assert [each.name for each in net.parameters] == ["k_het(0.1, 2.0)", "k_x"]
    assert set(net.host_values(AIR)) == {"k_het(0.1, 2.0)", "k_x"}


def test_conditions_go_before_the_side_file(files) -> None:
    net = allowed(files()).bind({"j_no2": 1.0})
    np.testing.assert_allclose(rates(net, AIR)[2], 1.5e-5 + 2.0)
    assert rates(net, {**AIR, "k_x": 1.0})[4, 0] == 5.0


def test_a_section_and_no_file(files, tmp_path: Path) -> None:
    path = files("[rates]\n" + SIDE)
    np.testing.assert_array_equal(rates(allowed(path), AIR)[1], 8e-3 * AIR["SUN"])
    (tmp_path / "test.rates.toml").unlink()
    with pytest.raises(MechanismError, match=r"'GCARR_ac\(1e-12, 300\.0\)' in <1>.*'k_het\(0\.1, 2\.0\)' in <4>"):
        allowed(path)


def test_an_element_is_no_function(files) -> None:
    """J(ip_O3) whose formula does not name ip_O3 is an element of a list; with it, it is a function."""
    start = MECHANISM.partition("<1>")[0]
    net = allowed(files('"J(i)" = "i*2"', start + "NO = O3 : J(3.0);"))
    assert rates(net, {}) == 6.0
    net = allowed(files('"J(i)" = "2"', start + "NO = O3 : J(i) + J(k);"))
    assert net.rate_constants[0].right == Parameter("J(k)")


BAD = {
    "no TOML": ("a = ", r"test\.rates\.toml:1:5: invalid value"),
    "no formula": ('k_x = "1 +"', r"test\.rates\.toml:1:\d+: k_x: expected"),
    "place": ('j_NO2 = "1"\nk_x = "1 + foo(1., 2.)"', r"test\.eqn:9:"),
    "air": ('TEMP = "1"', r":1:\d+: TEMP: TEMP is given by the air"),
    "key": ('"a b" = "1"', "expected a name such as"),
    "argument": ('"f(1, a)" = "a"', "expected the names of the arguments"),
    "twice the argument": ('"f(a, A)" = "a"', "each once"),
    "twice": ('k_x = "1"\nK_X = "2"', r":2:\d+: .*occurs twice"),
    "wrong type": ("k_x = [1]", "expected a formula in quotes"),
    "wrong table": ("k_x = { py = 1 }", "expected a formula in quotes"),
    "large number": ("k_x = 1" + "0" * 400, "too large"),
    "unused": (SIDE + 'k_xy = "1"', r":10:\d+: .*no rate of the mechanism needs 'k_xy'"),
    "circle": (SIDE.replace('"ARR2(2, 0)"', '"k_y"'), "define each other: k_y -> base -> k_y"),
    "function of itself": (SIDE.replace('"a*exp(c/TEMP)"', '"GCARR_ac(a, c)"'), "GCARR_AC calls itself"),
    "arguments": (SIDE.replace("(a, C)", "(a)").replace("c/TEMP", "a/TEMP"), r":9:16: GCARR_ac takes GCARR_AC\(a\)"),
    "function as value": (SIDE.replace('"2*j_NO2"', '"GCARR_ac"'), r"is a function: GCARR_AC\(a, C\)"),
    "no file": (SIDE.replace("uptake.py:k_x", "none.py:k_x"), r"k_x: there is no file 'none\.py' next to"),
    "no name": (SIDE.replace("uptake.py:k_x", "uptake.py"), "expected file.py:function"),
    "no function": (SIDE.replace("uptake.py:k_x", "uptake.py:k_"), r"has no function 'k_'; did you mean 'k_x'"),
    "no such argument": (SIDE.replace("uptake.py:k_x", "uptake.py:strange"), "requires 'pH'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_message(case: str, files) -> None:
    side, match = BAD[case]
    with pytest.raises(MechanismError) as error:
        allowed(files(side))
    assert re.search(match, str(error.value)), str(error.value)


GROWING = {
    "values": ("k0", "".join(f'k{n} = "k{n + 1} + k{n + 1}"\n' for n in range(40)) + 'k40 = "TEMP"'),
    "functions": ("f0(TEMP)", "".join(f'"f{n}(x)" = "f{n + 1}(x + x)"\n' for n in range(40)) + '"f40(x)" = "x"'),
    "chain": ("k0", "".join(f'k{n} = "k{n + 1}"\n' for n in range(1200)) + 'k1200 = "TEMP"'),
    "chain of functions": ("f0(TEMP)", "".join(f'"f{n}(x)" = "f{n + 1}(x)"\n' for n in range(99)) + '"f99(x)" = "x"'),
}


@pytest.mark.parametrize("case", GROWING)
def test_formulas_that_grow_without_bounds_are_refused(case: str, files) -> None:
    rate, side = GROWING[case]
    with pytest.raises(MechanismError, match=r"too large|lead to each other"):
        allowed(files(side, f"#DEFVAR\nA = IGNORE;\n#EQUATIONS\nA = PROD : {rate};"))


@pytest.mark.parametrize(
    ("function", "match"),
    [
        ("wrong", r"uptake\.py:wrong fails: ZeroDivisionError"),
        ("infinite", "not a finite number"),
        ("shape", "fails: ValueError"),
        ("asleep", "needs SUN, which the conditions do not give"),
    ],
)
def test_functions_that_fail(function: str, match: str, files) -> None:
    net = allowed(files(SIDE.replace("uptake.py:k_x", f"uptake.py:{function}")))
    with pytest.raises(MechanismError, match=match):
        net.host_values({"TEMP": np.array([250.0, 300.0]), "M": 1.0})


def test_a_python_file_that_fails(files, write) -> None:
    path = files()
    write("import nothing_of_this_name", "uptake.py")
    with pytest.raises(MechanismError, match=r"k_het.*uptake\.py fails when it is read: ModuleNotFoundError"):
        allowed(path)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("side")
    (folder / "test.eqn").write_text("#DEFVAR\nA = IGNORE;\n#EQUATIONS\nA = PROD : k_a + f(1., 2.);", encoding="utf-8")
    return folder / "test.eqn"


@settings(max_examples=100)
@given(
    pieces=st.lists(
        st.sampled_from(
            ["k_a", '"f(a, b)"', " = ", '"', "'", "{", "}", "1e999", "f(", ")", "a", "\n", "#", "[", "\0", "ü", '"k_a"',
             '"2*k_a"', "python", '"x.py:y"', "0x1", "inf", "nan", "^" * 300, "(" * 300, "-"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_any_side_file_is_read_or_refused(pieces: list[str], fuzzed: Path) -> None:
    fuzzed.with_name("test.rates.toml").write_text("".join(pieces), encoding="utf-8")
    with suppress(MechanismError):
        assert allowed(fuzzed).names == ("A",)


OUTSIDE = {
    "up": "../own.py:f",
    "up and down": "sub/../../own.py:f",
    "absolute": "{folder}/own.py:f",
    "link": "link.py:f",
    "link to a folder": "linked/own.py:f",
}


@pytest.fixture
def traitor(tmp_path: Path):
    """Write a mechanism whose code leaves a trace when it runs, in its folder and in the folder above."""
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    code = f"open({str(tmp_path / 'trace')!r}, 'w').close()\ndef f(TEMP):\n    return TEMP\n"
    for place in (tmp_path, folder):
        (place / "own.py").write_text(code)
    (folder / "link.py").symlink_to(tmp_path / "own.py")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "m.def").write_text("#DEFVAR\nA = IGNORE;\n#EQUATIONS\nA = PROD : k;\n")

    def make(text: str) -> Path:
        (folder / "m.rates.toml").write_text(f"k = {{ python = {text!r} }}\n")
        return folder / "m.def"

    return make


def test_code_is_refused_in_one_line_unless_it_is_allowed(traitor, tmp_path: Path) -> None:
    path = traitor("own.py:f")
    with pytest.raises(MechanismError, match=r"m\.rates\.toml:1:1: k: own\.py:f is code .* --allow-code") as told:
        load_mechanism(path)
    assert "\n" not in str(told.value)
    network = inspect_mechanism(path)
    assert list(network.callables) == ["k"]
    with pytest.raises(MechanismError, match="is not run here"):
        network.host_values({"TEMP": 300.0})
    assert not (tmp_path / "trace").exists()
    assert rates(load_mechanism(path, allow_code=True), {"TEMP": 300.0}).tolist() == [300.0]
    assert (tmp_path / "trace").exists()


@pytest.mark.parametrize("way", OUTSIDE)
def test_code_lies_inside_the_folder(way: str, traitor, tmp_path: Path) -> None:
    path = traitor(OUTSIDE[way].format(folder=tmp_path))
    for read in (load_mechanism, inspect_mechanism, allowed):
        with pytest.raises(MechanismError, match=r"lies outside the folder of m\.rates\.toml"):
            read(path)
    assert not (tmp_path / "trace").exists()
    assert allowed(traitor("sub/../own.py:f")).callables


CONSTANT = "#DEFVAR\nA = IGNORE; B = IGNORE;\n#EQUATIONS\n<1> A = B : {};\n<2> B = A : {};\n"


@pytest.mark.parametrize("call", ["k_x(TEMP)", "k_x(2.5e-12)", "k_x(2*M)"])
def test_a_function_may_leave_its_argument_out(call: str, write) -> None:
    """Its formula resembles that of an element of a list, as J(ip_NO2) is; the calls distinguish them."""
    write('"k_x(a1)" = "1e-3*SUN"', "test.rates.toml")
    network = load_mechanism(write(CONSTANT.format(call, f"3*{call}"), "test.eqn"))
    np.testing.assert_allclose(rates(network, AIR), [1e-3 * AIR["SUN"], 3e-3 * AIR["SUN"]])


def test_elements_of_a_list_do_not_stand_for_each_other(write) -> None:
    write('"J(ip_NO2)" = "1e-3*SUN"', "test.rates.toml")
    network = load_mechanism(write(CONSTANT.format("J(ip_NO2)", "J(ip_O3)"), "test.eqn"))
    assert [each.name for each in network.open_parameters] == ["J(ip_O3)"]
    with pytest.raises(MechanismError, match=r"no rate of the mechanism needs 'J\(ip_NO2\)'"):
        load_mechanism(write(CONSTANT.format("J(ip_NO)", "J(ip_O3)"), "test.eqn"))
    write('"J(3)" = "1e-3*SUN"', "test.rates.toml")
    with pytest.raises(MechanismError, match=r"there is no formula for 'J\(TEMP\)'"):
        load_mechanism(write(CONSTANT.format("J(TEMP)", "J(3)"), "test.eqn"))


def test_a_value_that_a_function_leaves_out_is_not_written(write) -> None:
    """C_M of WRF-Chem's k(TEMP, C_M), if the formula of k does not name it."""
    write('"k_x(t, m)" = "1e-3*exp(-10/t)"\nC_M = "M"\nk_a = "2*k_b"\nk_b = "1e-4*M"', "test.rates.toml")
    path = write(CONSTANT.format("k_x(TEMP, C_M)", "k_a"), "test.eqn")
    report = convert(str(path), path.with_name("out.def"))
    assert report.ok, report.facts
    assert set(tomllib.loads(path.with_name("out.rates.toml").read_text())) == {"k_a", "k_b"}
