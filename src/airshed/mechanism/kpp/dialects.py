"""Rate functions of models that write KPP files in a way of their own, and a side file with what a mechanism lacks.

WRF-Chem and GEOS-Chem compute rates by functions of their own code. Some have the names of KPP's rate functions and
another meaning: ``ARR2(a, b, TEMP)`` of WRF-Chem is a exp(-b/T), ``ARR2(a, b)`` of KPP a exp(+b/T).

Sources: WRF-Chem, chem/KPP/kpp/kpp-2.1/util/WRF_conform/WRFUserRateLaws.f90; GEOS-Chem,
KPP/fullchem/fullchem_RateLawFuncs.F90, and GCARR of its older gckpp.kpp.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from airshed.core.errors import MechanismError
from airshed.core.text import counted
from airshed.mechanism.kpp.rate_functions import RATE_FUNCTIONS
from airshed.mechanism.location import Location

_LISTED: Final = 5
_KPP: Final = {"ARR2": ", a*exp(+b/TEMP),"}
"""Meaning of KPP's function where it differs by its sign alone."""


@dataclass(frozen=True)
class Dialect:
    """A model's own functions: signature -> formula, and names of its air: name -> symbol."""

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
class Missing:
    """A function, or a value, that rates use and no formula gives.

    arguments  how many it has, none for a value;  text  as first written;  places  how many reactions use it
    species    variable species whose concentrations it takes there
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
        """The function with names of its arguments, those of its dialect where it is one's."""
        known = of_dialect(self.name, self.arguments)
        if known is not None:
            return known[1]
        letters = ", ".join(f"a{number}" for number in range(1, self.arguments + 1))
        return f"{self.name}({letters})" if letters else self.name


class MissingFormulasError(MechanismError):
    """Rates use functions or values that no formula gives.

    missing    each of them once
    left_open  values that the rates name and that conditions or a species map may give as well
    """

    def __init__(self, text: str, missing: Sequence[Missing], left_open: Sequence[str]) -> None:
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


def message(missing: Sequence[Missing], side: str, file: str) -> str:
    """Return what to say of missing functions: each once with the number of its places, and what writes them down.

    side  name of the side file;  file  the mechanism's, as a user names it
    """
    many = sorted(missing, key=lambda each: -each.places)
    listed = ", ".join(
        f"{each.text!r} in <{each.label}> at {each.location.line}:{each.location.column}"
        + (f" and {each.places - 1} more" if each.places > 1 else "")
        for each in (many if len(many) > 1 else missing)[:_LISTED]
    )
    more = f", and {counted(len(many) - _LISTED, 'more function')}" if len(many) > _LISTED else ""
    write = f"write it into {side} beside the mechanism"
    if len(many) > 1 or any(of_dialect(each.name, each.arguments) for each in many):
        write += f"; `airshed mechanism check {file} --write-rates` does so, to be filled in"
    return f"no formula gives {listed}{more}; {write}{_of_concentrations(many)}{_of_models(many)}"


def _of_concentrations(missing: Iterable[Missing]) -> str:
    """Return which of the functions take concentrations, and what their formulas may do with them."""
    names = [each.name for each in missing if each.species]
    listed = ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)
    return f"\n{listed}: takes concentrations of species, which its formula may have as factors only" if names else ""


def _of_models(missing: Iterable[Missing]) -> str:
    """Return which of the functions are other models' own, with the meaning of one that KPP has, too."""
    told = []
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
        told.append(f"\n{names}: {dialect.title}'s own; {known[1]} is {known[2]} there{unlike}")
    return "".join(told)


def side_file(name: str, missing: Sequence[Missing], left_open: Iterable[str]) -> str:
    """Return the text of a side file for what a mechanism lacks; what is not known is a line with ``#?``."""
    lines = [
        f"# What the rates of {name} leave to other code. Write formulas in the lines with #? (docs/mechanisms.md).\n"
    ]
    dialects = []
    for each in missing:
        known = of_dialect(each.name, each.arguments)
        remark = f"# {counted(each.places, 'reaction')}, first <{each.label}>: {each.text}"
        remark += "; concentrations may stand in it as factors only" if each.species else ""
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
