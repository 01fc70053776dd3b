"""KPP's rate functions and its sun, against independent formulas."""

from math import cos, exp, log10, pi

import numpy as np
import pytest

from airshed.core.errors import MechanismError
from airshed.mechanism import load_mechanism, rates
from airshed.mechanism.kpp import kpp_sun, read_rate

T, M = 230.0, 3.1e18
AIR = {"TEMP": T, "M": M}


def falloff(low: float, high: float, f: float, width: float = 1.0) -> float:
    ratio = low / high
    return low / (1.0 + ratio) * f ** (1.0 / (1.0 + (log10(ratio) / width) ** 2))


def arr(a: float, b: float, c: float) -> float:
    return a * exp(-b / T) * (T / 300.0) ** c


def ep2(m: float) -> float:
    k0, k2, k3 = (a * exp(-c / T) for a, c in ((2.4e-14, -460.0), (2.7e-17, -2199.0), (6.5e-34, -1335.0)))
    return k0 + k3 * m / (1.0 + k3 * m / k2)


FUNCTIONS = {
    "ARR(3e-12, 1500, -1.4)": lambda m: arr(3e-12, 1500.0, -1.4),
    "ARR_abc(3e-12, 1500, -1.4)": lambda m: arr(3e-12, 1500.0, -1.4),
    "ARR2(3e-12, 270)": lambda m: 3e-12 * exp(270.0 / T),
    "ARR_ab(3e-12, 270)": lambda m: 3e-12 * exp(-270.0 / T),
    "ARR_ac(5.68e-34, -2.80)": lambda m: 5.68e-34 * (T / 300.0) ** -2.8,
    "EP2(2.4e-14, -460, 2.7e-17, -2199, 6.5e-34, -1335)": ep2,
    "EP3(2.2e-13, -600, 1.85e-33, -980)": lambda m: 2.2e-13 * exp(600.0 / T) + 1.85e-33 * exp(980.0 / T) * m,
    "FALL(2.43e-30, 10, -3.1, 1.67e-11, 20, -2.1, 0.6)": lambda m: falloff(
        arr(2.43e-30, 10.0, -3.1) * m, arr(1.67e-11, 20.0, -2.1), 0.6
    ),
    "k_3rd(temp, cair, 2.5e-30, 4.4, 1.6e-12, 1.7, 0.6)": lambda m: falloff(
        2.5e-30 * (300.0 / T) ** 4.4 * M, 1.6e-12 * (300.0 / T) ** 1.7, 0.6
    ),
    "k_3rd_iupac(temp, cair, 2.5e-30, 4.4, 1.6e-12, 1.7, 0.4)": lambda m: falloff(
        2.5e-30 * (300.0 / T) ** 4.4 * M, 1.6e-12 * (300.0 / T) ** 1.7, 0.4, 0.75 - 1.27 * log10(0.4)
    ),
    "k_arr(4e-13, 5820, temp)": lambda m: 4e-13 * exp(5820.0 * (1.0 / T - 3.3540e-3)),
}


@pytest.mark.parametrize("text", FUNCTIONS)
@pytest.mark.parametrize("factor", [None, 2.46e13])
def test_formulas(text: str, factor: float | None, write) -> None:
    end = f"#INITVALUES CFACTOR = {factor!r};" if factor else ""
    head = "#DEFVAR\nA = IGNORE;\n#EQUATIONS\n"
    for spelling in (text, text.upper(), text.lower().replace("e-", "D-")):
        net = load_mechanism(write(f"{head}A = PROD : 2*{spelling};{end}"))
        expected = 2.0 * FUNCTIONS[text](M)  # that of the run, whatever CFACTOR the file gives
        assert float(rates(net, AIR)[0]) == pytest.approx(expected, rel=1e-13)


def test_the_two_signs_are_told_apart() -> None:
    """Negative control: ARR2 and ARR_ab of the same arguments differ."""
    assert read_rate("ARR2(1, 100)") != read_rate("ARR_ab(1, 100)")
    assert read_rate("ARR2(1, 100)") == read_rate("ARR2(1.0D0, 100._dp)")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ARR(1, 2)", r"column 1: ARR takes 3 arguments, \(a, b, c\), not 2"),
        ("1 + k_3rd(1)", r"column 5: k_3rd takes 7 arguments"),
        ("ARRR(1, 2)", r"column 1: there is no function 'ARRR\(1\.0, 2\.0\)'; did you mean 'ARR'"),
        ("1 +", r"column 4: expected"),
        ("1; 2", r"column 2: "),
    ],
)
def test_read_rate_says_what_is_wrong(text: str, match: str) -> None:
    with pytest.raises(MechanismError, match=match):
        read_rate(text)


def test_sun_of_kpp() -> None:
    hours = np.array([0.0, 4.4, 4.5, 8.0, 12.0, 16.0, 19.5, 19.6, 36.0])
    sun = kpp_sun(hours * 3600.0)
    x = (2.0 * 8.0 - 24.0) / 15.0
    morning = 0.5 * (1.0 + cos(pi * x * abs(x)))
    np.testing.assert_allclose(sun, [0, 0, 0, morning, 1, morning, 0, 0, 1], rtol=1e-14, atol=1e-16)
    assert kpp_sun(43200.0).shape == ()
