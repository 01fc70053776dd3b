"""Units of gridded emission, as inventories write them: fluxes, amounts per cell, and amounts in a year or a month."""

import re
from dataclasses import dataclass
from typing import Final

from airshed.core.errors import CaseError, DataError
from airshed.core.units import quantity

RATES: Final = ("mol/s", "kg/s", "mol/m2/s", "kg/m2/s")
_AMOUNTS: Final = ("mol", "kg", "mol/m2", "kg/m2")
_POWER: Final = r"(?:\s*(?:\^|\*\*)?\s*-\s*1)?"
_CELL: Final = re.compile(rf"[\s/*.]*\b(?:grid[\s_-]?)?(?:cell|box|pixel)s?\b{_POWER}|/\s*grid\b", re.IGNORECASE)
_BASIS: Final = re.compile(
    r"^\s*((?:[kMGTumn]?g|kt|Mt|t|tonnes?|Tonnes?)|(?:mol|moles?))[\s_]*\(?\s*(CO2|NO2|SO2|CH4|NH3|CO|NO|C|N|S)\b\s*\)?"
)
_MOLECULE: Final = re.compile(r"^\s*([kMGTumn]?g)[\s_]*\(?\s*(NOx|species|tracer|pollutant|substance)\b\s*\)?", re.I)
_PERIODS: Final = {"year": r"(?:years?|yrs?|annum|a|y)", "month": r"(?:months?|mon)"}
_WORDS: Final = (
    (r"\b[Tt]onnes?\b|\b[Mm]etric tons?\b", "t"), (r"\bTg\b", "Gg"), (r"\bmole?s\b", "mol"), (r"\bmole\b", "mol"),
    (r"\bmolecules\b|\bmlc\b|\bmcl\b", "molecule"), (r"\bhrs?\b|\bhours?\b", "h"), (r"\bsecs?\b|\bseconds?\b", "s"),
    (r"\bdays\b", "day"), (r"\bKg\b", "kg"), (r"\bcm\^?2\b", "cm2"),
)  # fmt: skip
_PLAIN_MOLE: Final = ("mol", "mole", "moles")


@dataclass(frozen=True)
class EmissionUnit:
    """Unit of an emission field: value in SI = factor * number [/ seconds of `per`].

    mass      whether it is a mass [kg], otherwise an amount [mol]
    per_area  whether it is a flux, otherwise it is per cell
    per       "" for a rate, "year" or "month" for an amount in each of these, "?" for an amount without time
    basis     molecule or atom that the mass stands for, such as C in kgC; "" for the substance itself
    """

    factor: float
    mass: bool
    per_area: bool
    per: str = ""
    basis: str = ""


def emission_unit(text: str, where: str) -> EmissionUnit:
    """Return the meaning of a unit in a file; raise DataError for a unit that is not one of emission."""
    if not text.strip():
        raise DataError(f'{where} has no units; add the attribute units, such as "kg m-2 s-1"')

    # molecule of the mass, and the word "cell"
    plain, basis = " ".join(text.split()), ""
    plain = _MOLECULE.sub(r"\1", plain)
    match = _BASIS.match(plain)
    if match:
        plain, basis = f"{match[1]} {plain[match.end() :]}".replace(" /", "/"), match[2]
        if match[1] in _PLAIN_MOLE:
            raise DataError(
                f"{where} is in {text!r}, moles of atoms; convert it to moles of the substance, or to kg{basis}"
            )
    plain, cells = _CELL.subn("", plain)

    # years and months, whose lengths depend on the date
    per = ""
    for period, names in _PERIODS.items():
        plain, found = re.subn(rf"/\s*{names}\b|\b{names}\s*(?:\^|\*\*)?\s*-\s*1\b", " s-1", plain)
        per = period if found else per
    if re.search(r"\btons?\b", plain):
        raise DataError(f"{where} is in {text!r}, which may be short tons; write t (metric), or convert it")
    factor = 1e3 if re.search(r"\bTg\b", plain) else 1.0
    for pattern, word in _WORDS:
        plain = re.sub(pattern, word, plain)
    plain = re.sub(r"/\s*\(?\s*(\w+) (s|h|day)\s*\)?$", r"/\1/\2", plain)

    # the rest
    try:
        unit = quantity(f"1 {plain}", (*RATES, *_AMOUNTS), where=f"{where}: units")
    except CaseError:
        try:
            quantity(f"1 {text}", RATES, where=f"{where}: units")
        except CaseError as error:
            raise DataError(str(error)) from None
        raise
    if unit.unit in _AMOUNTS:
        per = "?"
    per_area = "m2" in unit.unit
    if cells and per_area:
        raise DataError(f"{where} is in {text!r}, both per cell and per area; correct its units")
    return EmissionUnit(unit.value * factor, "kg" in unit.unit, per_area, per, basis)
