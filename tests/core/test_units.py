"""Quantities: usual spellings are accepted, and errors are refused with a useful message."""

import math
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import CaseError
from airshed.core.units import quantity, same_unit, to, unit_names


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("0.25 deg", "deg", 0.25),
        ("3.141592653589793 rad", "deg", 180.0),
        ("120 s", "s", 120.0),
        ("24 h", "s", 86400.0),
        ("90min", "s", 5400.0),
        ("2 days", "s", 172800.0),
        ("20 m", "m", 20.0),
        ("0.25 km", "m", 250.0),
        ("10 ppb", "mol/mol", 1e-8),
        ("0.4 ppm", "mol/mol", 4e-7),
        ("1e-2 mol/mol", "mol/mol", 1e-2),
        ("8.1e11 molecules/cm3", "molecules/cm3", 8.1e11),
        ("6.02214076e17 molecules/cm3", "mol/m3", 1.0),
        ("5 g/s", "kg/s", 5e-3),
        ("1 kt/year", "kg/s", 1e6 / 31557600.0),
        ("0.5 cm/s", "m/s", 5e-3),
        ("0.5 cm s-1", "m/s", 5e-3),
        ("1 µg/m^3", "kg/m3", 1e-9),
        ("10 m2/s", "m2/s", 10.0),
        ("270 K", "K", 270.0),
        ("20 degC", "K", 293.15),
        ("-5 °C", "K", 268.15),
        ("1013.25 hPa", "Pa", 101325.0),
        ("1e-5 1/s", "1/s", 1e-5),
        ("-3e2 m", "m", -300.0),
        (7, "1", 7.0),
        ("0.5", "1", 0.5),
        ("60 %", "1", 0.6),
        ("5 %/h", "1/s", 0.05 / 3600.0),
        ("3 nmol mol-1", "mol/mol", 3e-9),
        ("3 mol mol**-1", "mol/mol", 3.0),
        ("2 cm3/m3", "mol/mol", 2e-6),
        ("7 g/kg", "kg kg-1", 7e-3),
        ("1 kg/(m2 s)", "kg/m2/s", 1.0),
        ("1 kg / m^2 / s", "kg m-2 s-1", 1.0),
        ("2 cm6/molecules2/s", "cm6/molecules2/s", 2.0),
        ("3 N/m2", "Pa", 3.0),
        ("3 degrees_Celsius", "K", 276.15),
    ],
)
def test_quantities_are_converted(text: str | int, unit: str, expected: float) -> None:
    assert to(text, unit, where="key") == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("value", "unit", "parts"),
    [
        (120, "s", ['time.step needs a unit, such as "120 s"', "120 has none"]),
        ("120", "s", ['needs a unit, such as "120 s"']),
        ("120 km", "s", ["'120 km'", 'expected a time (such as "120 s")', "not a length"]),
        ("5 ppb", "deg", ["expected an angle", "not a mixing ratio"]),
        ("0.25 deg", "mol/mol", ["expected a mixing ratio", "not an angle"]),
        ("3 hourss", "s", ["'hourss' is not a unit", "did you mean hour?"]),
        ("3 S", "s", ["did you mean s?"]),
        ("3 quux", "s", ["'quux' is not a unit", "expected a time"]),
        ("soon", "s", ["'soon' is not a quantity", "expected a time"]),
        ("3 s s(", "s", ["is not a unit", "expected a time"]),
        ("3 s**s", "s", ["is not a unit"]),
        ("3 __import__", "s", ["is not a unit"]),
        ("3 m 5", "m", ["'m 5' is not a unit"]),
        ("1e999 s", "s", ["too large"]),
        ("nan s", "s", ["not a quantity"]),
        (True, "s", ["must be a time", "not True"]),
        ([20], "m", ["must be a length", "not [20]"]),
        ("5 s", "kg/m2/s", ["a quantity in kg/m2/s"]),
        ("1.9 ppm ppm", "mol/mol", ["'ppm ppm' does not read plainly", "expected a mixing ratio"]),
        ("300 s s-1", "mol/mol", ["'s s-1' does not read plainly"]),
        ("10 ug/kg", "mol/mol", ["'ug/kg' does not read plainly"]),
        ("3 kg kg-1", "1", ["'kg kg-1' does not read plainly"]),
        ("3 mol-1 mol", "mol/mol", ["does not read plainly"]),
        ("5 ppm m", "m", ["'ppm m' does not read plainly"]),
        ("5 m ppm", "m", ["'m ppm' does not read plainly"]),
        ("5 h min/s", "s", ["'h min/s' does not read plainly"]),
        ("5 m m/s", "m2/s", ["'m m/s' does not read plainly"]),
        ("5 m m", "m", ["wrong kind of unit"]),
        ("1 km/h/h", "m/s", ["wrong kind of unit"]),
        ("2e3 5 m", "m", ["'5 m' is not a unit"]),
        ("1 m + 1 m", "m", ["'m + 1 m' is not a unit"]),
        ("3*4 s", "s", ["'*4 s' is not a unit"]),
        ("m 5", "m", ["not a quantity"]),
        ("1 m2.5", "m", ["'m2.5' is not a unit"]),
        ("1 m2s", "m", ["'m2s' is not a unit"]),
        ("1 s/", "s", ["'s/' is not a unit"]),
        ("1 (s)(s)", "s", ["is not a unit"]),
        ("1 m999", "m", ["is not a unit"]),
        ("1 m0 s", "s", ["is not a unit"]),
        ("\u0665 s", "s", ["not a quantity"]),
        ("inf s", "s", ["not a quantity"]),
        ("1e308 h", "s", ["too large"]),
        ("5 mdegC", "K", ["'mdegC' is not a unit"]),
        ("5 degC/h", "K", ["'degC/h' is not a unit"]),
        ("5 degC2", "K", ["is not a unit"]),
        ("5 delta_degC", "K", ["is not a unit"]),
    ],
)
def test_what_is_wrong_is_refused_with_what_was_given_and_what_is_expected(
    value: str, unit: str, parts: list[str]
) -> None:
    with pytest.raises(CaseError) as refusal:
        to(value, unit, where="time.step")
    message = str(refusal.value)
    assert message.startswith("time.step")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_the_first_fitting_unit_is_taken() -> None:
    assert quantity("5 g/s", ("kg/s", "mol/s"), where="rate").unit == "kg/s"
    amount = quantity("5 mmol/s", ("kg/s", "mol/s"), where="rate")
    assert (amount.unit, amount.value, str(amount)) == ("mol/s", pytest.approx(5e-3), "5 mmol/s")
    with pytest.raises(CaseError, match=r"a mass per time.* or an amount per time.*not a speed"):
        quantity("5 m/s", ("kg/s", "mol/s"), where="rate")


@given(st.floats(min_value=-1e12, max_value=1e12), st.sampled_from([("h", 3600.0), ("min", 60.0), ("ms", 1e-3)]))
def test_any_number_converts_as_its_factor_says(number: float, unit: tuple[str, float]) -> None:
    assert math.isclose(to(f"{number!r} {unit[0]}", "s", where="t"), number * unit[1], rel_tol=1e-14, abs_tol=0.0)


@given(st.text(max_size=12) | st.text("smhKgC%dep123-*/^() .ol", max_size=8))
def test_no_text_gives_anything_but_a_number_or_a_case_error(text: str) -> None:
    with suppress(CaseError):
        assert math.isfinite(to(f"1 {text}", "s", where="t"))


def test_bytes_are_counted_by_thousands_and_by_1024() -> None:
    assert to("2 GiB", "B", where="memory") == 2**31
    assert to("1.5 TB", "B", where="memory") == 1000.0 * to("1.5 GB", "B", where="memory") == 1.5e12
    with pytest.raises(CaseError, match=r"not an amount of data"):
        to("5 MB", "s", where="step")


def test_every_listed_unit_is_understood() -> None:
    for name in unit_names():
        assert quantity(f"1 {name}", (name,), where=name).unit == name


def test_pint_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, airshed.core.units as u; assert 'pint' not in sys.modules; u.to('1 s', 's', where=''); "
    subprocess.run([sys.executable, "-c", code + "assert 'pint' in sys.modules"], check=True)


@pytest.mark.parametrize("text", ["5 " + 10**6 * "a", "5 " + 10**6 * "m ", "5" + 10**6 * " " + "m", 10**6 * "5" + " m"])
def test_a_text_of_any_length_is_refused_at_once(text: str) -> None:
    """The search for units once covered the whole text, and took hours."""
    with pytest.raises(CaseError, match=r"where = .{,100} is not a quantity: expected a length"):
        to(text, "m", where="where")
    assert not same_unit(text, "m")
