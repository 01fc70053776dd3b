"""The rate functions of KPP, in molecules, cm3, s and K, arguments in the order of its manual.

With T the temperature and M the air's number density [molecules cm-3]:

    ARR(a, b, c) = ARR_abc(a, b, c) = a exp(-b/T) (T/300)^c
    ARR2(a, b) = a exp(+b/T)            ARR_ab(a, b) = a exp(-b/T)            ARR_ac(a, c) = a (T/300)^c
    EP2(a0, c0, a2, c2, a3, c3) = k0 + k3 M/(1 + k3 M/k2)                     k_i = a_i exp(-c_i/T)
    EP3(a1, c1, a2, c2) = k1 + k2 M
    FALL(a0, b0, c0, a1, b1, c1, f) = k0 M/(1 + r) f^(1/(1 + log10(r)^2));     r = k0 M/k1, k_i = ARR(a_i, b_i, c_i)
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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import MechanismError
from airshed.core.text import counted
from airshed.formula.tree import Binary, Call, Expression, Negate, Number
from airshed.mechanism.location import Location
from airshed.mechanism.rate_forms import ONE, REFERENCE, exponential, falloff, one_plus, over, power, times

SUNRISE: Final = 4.5
"""Local time of day [hours]."""

SUNSET: Final = 19.5
"""Local time of day [hours]."""

_INVERSE_298: Final = Number(3.3540e-3)

Arguments = tuple[Expression, ...]


@dataclass(frozen=True)
class RateFunction:
    """Rate function: the names of its arguments, and its formula of them and of the air [molecules cm-3]."""

    arguments: str
    formula: Callable[[Arguments, Expression], Expression]


def rate_function(name: str, arguments: Arguments, air: Expression) -> Expression | None:
    """Return the formula of a rate function, by its name in upper or lower case; None if KPP has none of this name.

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
"""Functions for which KPP uses 1e6 CFACTOR as the density of air."""


def kpp_sun(seconds: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return SUN [1], of the shape of `seconds` since local midnight [s] of any day."""
    hour = np.asarray(seconds, dtype=np.float64) / 3600.0 % 24.0
    x = (2.0 * hour - SUNRISE - SUNSET) / (SUNSET - SUNRISE)
    return np.where(np.abs(x) <= 1.0, 0.5 * (1.0 + np.cos(np.pi * x * np.abs(x))), 0.0)


# Rate functions of other models, and a side file with the definitions that a mechanism lacks.


_LISTED: Final = 5
_KPP: Final = {"ARR2": ", a*exp(+b/TEMP),"}
"""Differences by sign alone between a model's function and KPP's."""


@dataclass(frozen=True)
class Dialect:
    """Functions of one model: signature -> formula, and names of its air: name -> symbol."""

    title: str
    functions: Mapping[str, str]
    names: Mapping[str, str]


WRF_CHEM: Final = Dialect(
    "WRF-Chem",
    {
        "ARR(a, b, c, t)": "a*exp(-b/t)*(t/300)^c",
        "ARR2(a, b, t)": "a*exp(-b/t)",
        "EP2(a0, c0, a2, c2, a3, c3, t, air)":
            "a0*exp(-c0/t) + a3*exp(-c3/t)*air/(1 + a3*exp(-c3/t)*air/(a2*exp(-c2/t)))",
        "EP3(a1, c1, a2, c2, t, air)": "a1*exp(-c1/t) + a2*exp(-c2/t)*air",
        "FALL(a0, b0, c0, a1, b1, c1, cf, t, air)": "k_3rd(t, air, a0*exp(-b0/t), -c0, a1*exp(-b1/t), -c1, cf)",
        "TROE(k0, n, ki, m, t, air)": "k_3rd(t, air, k0, n, ki, m, 0.6)",
        "TROEE(a, b, k0, n, ki, m, t, air)": "a*exp(-b/t)*k_3rd(t, air, k0, n, ki, m, 0.6)",
        "THERMAL_T2(c, d, t)": "t^2*c*exp(-d/t)",
    },
    {"C_M": "M", "C_H2O": "H2O"},
)  # fmt: skip
GEOS_CHEM: Final = Dialect(
    "GEOS-Chem",
    {
        "GCARR(a, b, c)": "a*exp(c/TEMP)*(300/TEMP)^b",
        "GCARR_ab(a, b)": "a*(300/TEMP)^b",
        "GCARR_ac(a, c)": "a*exp(c/TEMP)",
        "GCARR_abc(a, b, c)": "a*exp(c/TEMP)*(300/TEMP)^b",
        "GCJPLPR_aba(a1, b1, a2, fv)": "k_3rd(TEMP, M, a1, b1, a2, 0, fv)",
        "GCJPLPR_abab(a1, b1, a2, b2, fv)": "k_3rd(TEMP, M, a1, b1, a2, b2, fv)",
        "GCJPLPR_abcabc(a1, b1, c1, a2, b2, c2, fv)":
            "k_3rd(TEMP, M, a1*exp(c1/TEMP), b1, a2*exp(c2/TEMP), b2, fv)",
    },
    {},
)  # fmt: skip
_DIALECTS: Final = (WRF_CHEM, GEOS_CHEM)


@dataclass(frozen=True)
class MissingFormula:
    """Function, or value, in rates without a formula.

    arguments  number of arguments, none for a value
    text       as first written
    places     number of reactions that use it
    species    variable species whose concentrations are arguments
    """

    name: str
    arguments: int
    text: str
    label: str
    location: Location
    places: int = 1
    species: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        """Return the function with names of its arguments, as in its dialect if known."""
        known = of_dialect(self.name, self.arguments)
        if known is not None:
            return known[1]
        letters = ", ".join(f"a{number}" for number in range(1, self.arguments + 1))
        return f"{self.name}({letters})" if letters else self.name


class MissingFormulasError(MechanismError):
    """Rates use functions or values without a formula.

    missing    each of them once
    left_open  names of values in rates that conditions or a species map may provide as well
    """

    def __init__(self, text: str, missing: Sequence[MissingFormula], left_open: Sequence[str]) -> None:
        super().__init__(text)
        self.missing, self.left_open = tuple(missing), tuple(left_open)


def of_dialect(name: str, arguments: int) -> tuple[Dialect, str, str] | None:
    """Return dialect, signature and formula of another model's function with so many arguments; None if unknown."""
    for dialect in _DIALECTS:
        for signature, formula in dialect.functions.items():
            known, _, inside = signature.partition("(")
            if known.casefold() == name.casefold() and len(inside.split(",")) == arguments:
                return dialect, signature, formula
    return None


def message(missing: Sequence[MissingFormula], side: str, file: str) -> str:
    """Return the message about missing functions: each once with its number of locations, and the remedy.

    side  name of the side file
    file  name of the mechanism's file for the user
    """
    many = sorted(missing, key=lambda each: -each.places)
    listed = ", ".join(
        f"{each.text!r} in <{each.label}> at {each.location.line}:{each.location.column}"
        + (f" and {each.places - 1} more" if each.places > 1 else "")
        for each in (many if len(many) > 1 else missing)[:_LISTED]
    )
    more = f", and {counted(len(many) - _LISTED, 'more function')}" if len(many) > _LISTED else ""
    write = f"write it into {side} next to the mechanism"
    if len(many) > 1 or any(of_dialect(each.name, each.arguments) for each in many):
        write += f"; `airshed mechanism check {file} --write-rates` does so, to be filled in"
    return f"there is no formula for {listed}{more}; {write}{_of_concentrations(many)}{_of_models(many)}"


def _of_concentrations(missing: Iterable[MissingFormula]) -> str:
    """Return a note on functions of concentrations, and on the restrictions of their formulas."""
    names = [each.name for each in missing if each.species]
    listed = ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)
    return f"\n{listed}: takes concentrations of species, which its formula may have as factors only" if names else ""


def _of_models(missing: Iterable[MissingFormula]) -> str:
    """Return a note on functions of other models, with the meaning of functions that KPP has too."""
    notes = []
    for dialect in _DIALECTS:
        theirs = [each for each in missing if (found := of_dialect(each.name, each.arguments)) and found[0] is dialect]
        if not theirs:
            continue
        names = ", ".join(dict.fromkeys(each.name for each in theirs))
        first = next((each for each in theirs if each.name.upper() in RATE_FUNCTIONS), theirs[0])
        known = of_dialect(first.name, first.arguments)
        assert known is not None
        own = RATE_FUNCTIONS.get(first.name.upper())
        unlike = f"; KPP's {first.name}({own.arguments}){_KPP.get(first.name.upper(), '')} is another" if own else ""
        notes.append(f"\n{names}: {dialect.title}'s own; {known[1]} is {known[2]} there{unlike}")
    return "".join(notes)


def side_file(name: str, missing: Sequence[MissingFormula], left_open: Iterable[str]) -> str:
    """Return the text of a side file for the missing definitions of a mechanism; unknown ones are lines with ``#?``."""
    lines = [
        f"# Definitions that the rates of {name} require. "
        "Write formulas in the lines with #? (docs/how-to/mechanisms.md).\n"
    ]
    dialects = []
    for each in missing:
        known = of_dialect(each.name, each.arguments)
        remark = f"# {counted(each.places, 'reaction')}, first <{each.label}>: {each.text}"
        remark += "; concentrations may occur in it as factors only" if each.species else ""
        if known is None:
            lines.append(f'#? "{each.signature}" =   {remark}\n')
        else:
            dialects.append(known[0])
            lines.append(f'"{known[1]}" = "{known[2]}"   # as in {known[0].title}; {remark[2:]}\n')
    names = {key.casefold(): symbol for dialect in dialects for key, symbol in dialect.names.items()}
    for value in left_open:
        symbol = names.get(value.casefold())
        lines.append(f'"{value}" = "{symbol}"\n' if symbol else f'#? "{value}" =\n')
    return "".join(lines)
