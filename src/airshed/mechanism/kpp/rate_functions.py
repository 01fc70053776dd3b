"""The rate functions of KPP, in molecules, cm3, s and K, arguments in the order of its manual.

With T the temperature and M the air's number density [molecules cm-3]:

    ARR(a, b, c) = ARR_abc(a, b, c) = a exp(-b/T) (T/300)^c
    ARR2(a, b) = a exp(+b/T)            ARR_ab(a, b) = a exp(-b/T)            ARR_ac(a, c) = a (T/300)^c
    EP2(a0, c0, a2, c2, a3, c3) = k0 + k3 M/(1 + k3 M/k2)                     k_i = a_i exp(-c_i/T)
    EP3(a1, c1, a2, c2) = k1 + k2 M
    FALL(a0, b0, c0, a1, b1, c1, f) = k0 M/(1 + r) f^(1/(1 + log10(r)^2))     r = k0 M/k1, k_i = ARR(a_i, b_i, c_i)
    k_3rd(T, M, k0, n, ki, m, f): the same of k0 (300/T)^n and ki (300/T)^m
    k_3rd_iupac(T, M, k0, n, ki, m, f): the same with log10(r)/(0.75 - 1.27 log10(f)) in place of log10(r)
    k_arr(k298, b, T) = k298 exp(b (1/T - 1/298.15)), the last term in KPP rounded to 3.3540e-3

KPP takes M as 1e6 CFACTOR in EP2, EP3 and FALL, CFACTOR being the molecules cm-3 of 1 ppm in the air of the
file. Here M is that of the air of the run.

KPP's own day is the light that its drivers give to mechanisms as SUN. With h the local time of day [hours] and
x = (2 h - sunrise - sunset)/(sunset - sunrise), sunrise 4.5 h, sunset 19.5 h:

    SUN = (1 + cos(pi x |x|))/2 between sunrise and sunset, else 0

so that SUN is 1 at noon and falls smoothly to 0.

Source: the manual of KPP, https://kpp.readthedocs.io; Damian et al. 2002, Comput. Chem. Eng. 26, 1567-1579.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import MechanismError
from airshed.formula.tree import Binary, Call, Expression, Negate, Number
from airshed.mechanism.rate_forms import ONE, REFERENCE, exponential, falloff, one_plus, over, power, times

SUNRISE: Final = 4.5
"""Local time of day [hours]."""

SUNSET: Final = 19.5
"""Local time of day [hours]."""

_INVERSE_298: Final = Number(3.3540e-3)

Arguments = tuple[Expression, ...]


@dataclass(frozen=True)
class RateFunction:
    """A rate function: the names of its arguments, and its formula of them and of the air [molecules cm-3]."""

    arguments: str
    formula: Callable[[Arguments, Expression], Expression]


def rate_function(name: str, arguments: Arguments, air: Expression) -> Expression | None:
    """Return the formula of a rate function, its name in any case of letters; None where KPP has none of this name.

    Raises MechanismError for a wrong number of arguments.
    """
    function = RATE_FUNCTIONS.get(name.upper())
    if function is None:
        return None
    wanted = len(function.arguments.split(", "))
    if len(arguments) != wanted:
        raise MechanismError(f"{name} takes {wanted} arguments, ({function.arguments}), not {len(arguments)}")
    return function.formula(arguments, air)


def _arr(a: Expression, b: Expression, c: Expression) -> Expression:
    return times(_ab(a, b), power(c))


def _ab(a: Expression, b: Expression) -> Expression:
    return times(a, exponential(Negate(b)))


def _ep2(x: Arguments, air: Expression) -> Expression:
    high = times(_ab(x[4], x[5]), air)
    return Binary("+", _ab(x[0], x[1]), over(high, one_plus(over(high, _ab(x[2], x[3])))))


def _ep3(x: Arguments, air: Expression) -> Expression:
    return Binary("+", _ab(x[0], x[1]), times(_ab(x[2], x[3]), air))


def _fall(x: Arguments, air: Expression) -> Expression:
    return falloff(times(_arr(*x[:3]), air), _arr(*x[3:6]), x[6])


def _third(x: Arguments, _air: Expression, *, iupac: bool = False) -> Expression:
    temperature, air, low, n, high, m, broadening = x
    inverse = over(REFERENCE, temperature)
    width = Binary("-", Number(0.75), times(Number(1.27), Call("log10", (broadening,)))) if iupac else ONE
    limits = times(low, Binary("^", inverse, n), air), times(high, Binary("^", inverse, m))
    return falloff(*limits, broadening, width=width)


def _k_arr(x: Arguments, _air: Expression) -> Expression:
    inverse = Binary("-", over(ONE, x[2]), _INVERSE_298)
    return times(x[0], Call("exp", (times(x[1], inverse),)))


RATE_FUNCTIONS: Final = {
    "ARR": RateFunction("a, b, c", lambda x, air: _arr(*x)),
    "ARR_ABC": RateFunction("a, b, c", lambda x, air: _arr(*x)),
    "ARR2": RateFunction("a, b", lambda x, air: times(x[0], exponential(x[1]))),
    "ARR_AB": RateFunction("a, b", lambda x, air: _ab(*x)),
    "ARR_AC": RateFunction("a, c", lambda x, air: times(x[0], power(x[1]))),
    "EP2": RateFunction("a0, c0, a2, c2, a3, c3", _ep2),
    "EP3": RateFunction("a1, c1, a2, c2", _ep3),
    "FALL": RateFunction("a0, b0, c0, a1, b1, c1, cf", _fall),
    "K_3RD": RateFunction("temp, cair, k0_300K, n, kinf_300K, m, fc", _third),
    "K_3RD_IUPAC": RateFunction("temp, cair, k0_300K, n, kinf_300K, m, fc", lambda x, air: _third(x, air, iupac=True)),
    "K_ARR": RateFunction("k_298, tdep, temp", _k_arr),
}
"""Name in upper case -> function."""


OF_AIR: Final = ("EP2", "EP3", "FALL")
"""Functions in which KPP takes 1e6 CFACTOR for the density of air."""


def kpp_sun(seconds: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return SUN [1], of the shape of `seconds` since local midnight [s] of any day."""
    hour = np.asarray(seconds, dtype=np.float64) / 3600.0 % 24.0
    x = (2.0 * hour - SUNRISE - SUNSET) / (SUNSET - SUNRISE)
    return np.where(np.abs(x) <= 1.0, 0.5 * (1.0 + np.cos(np.pi * x * np.abs(x))), 0.0)
