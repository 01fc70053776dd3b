"""Units of observations, and what a mixing ratio of 1 is in them."""

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from airshed.core.constants import GAS_CONSTANT
from airshed.core.units import quantity

_UNITS: Final = {"surface": ("mol/mol", "kg/m3", "mol/m3"), "column": ("mol/m2",)}
_SPELLINGS: Final = str.maketrans({"²": "2", "³": "3"})

STANDARD: Final = 101.3e3 / (GAS_CONSTANT * 293.0)
"""Air at 293 K and 101.3 kPa [mol/m3], to which gases in ug/m3 are standardised (Directive 2008/50/EC, Annex VI C)."""

Volume = Literal["standard", "ambient"]
"""Which air a volume means: that of 293 K and 101.3 kPa, or the air at the place."""


@dataclass(frozen=True)
class ObservedUnit:
    """An observed number times ``size`` is in ``si``: "mol/mol", "kg/m3", "mol/m3" or, of columns, "mol/m2"."""

    size: float
    si: str


@cache
def observed_unit(unit: str, kind: str) -> ObservedUnit:
    """Return a unit such as ug/m3 or ppb, of columns mol/m2; raises CaseError for one that is none of the kind."""
    found = quantity(f"1 {unit.translate(_SPELLINGS)}", _UNITS[kind], where="unit")
    return ObservedUnit(found.value, found.unit)
