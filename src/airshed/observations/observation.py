"""Observations: value, unit, error, place and time interval of each measurement, and satellite averaging kernels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT
from airshed.core.errors import DataError
from airshed.core.units import quantity

Names = npt.NDArray[np.str_]

KINDS: Final = ("surface", "column")

_UNITS: Final = {"surface": ("mol/mol", "kg/m3", "mol/m3"), "column": ("mol/m2",)}
_SPELLINGS: Final = str.maketrans({"²": "2", "³": "3"})
_GLUED: Final = re.compile(r"^([unmµμ]?g) ?\.?m-3$")
"""A mass per volume as the network AURN writes it, ugm-3."""

STANDARD: Final = 101.3e3 / (GAS_CONSTANT * 293.0)
"""Air at 293 K and 101.3 kPa [mol/m3], to which gases in ug/m3 are standardised (Directive 2008/50/EC, Annex VI C)."""

Volume = Literal["standard", "ambient"]
"""Reference state of a volume: 293 K and 101.3 kPa, or ambient air."""


@dataclass(frozen=True)
class ObservedUnit:
    """Factor ``size`` from an observed unit to ``si``: "mol/mol", "kg/m3", "mol/m3" or, of columns, "mol/m2"."""

    size: float
    si: str


@cache
def observed_unit(unit: str, kind: str) -> ObservedUnit:
    """Return a unit such as ug/m3 or ppb, for columns mol/m2; raises CaseError for a unit of another kind."""
    plain = _GLUED.sub(r"\1/m3", unit.translate(_SPELLINGS))
    found = quantity(f"1 {plain}", _UNITS[kind], where="unit")
    return ObservedUnit(found.value, found.unit)


def size_of_mole_fraction(unit: str, kind: str, molar_mass: float | None, air: float = STANDARD) -> float:
    """Return the value of a mixing ratio of 1 mol/mol in a unit of observations.

    molar_mass  [kg/mol], needed for a mass
    air         [mol/m3] in a volume, not used for a unit of mixing ratio
    raises      ValueError for a mass without a molar mass
    """
    found = observed_unit(unit, kind)
    if found.si == "mol/mol":
        return 1.0 / found.size
    if found.si == "kg/m3" and molar_mass is None:
        raise ValueError(f"{unit} needs a molar mass")
    mass = molar_mass if found.si == "kg/m3" and molar_mass is not None else 1.0
    return air * mass / found.size


@dataclass(frozen=True, eq=False)
class Kernel:
    """Averaging kernel of a satellite column:  y = sum a_l x_l + (1 - a_l) x_a,l.

    edges     (n + 1,) [m] above ground, rising: x_l is the partial column between two of them
    weights   (n,) a_l [1], the averaging kernel
    a_priori  (n,) x_a [mol/m2], partial columns
    source    Rodgers 2000, Inverse Methods for Atmospheric Sounding, sections 2.2 and 3.1
    """

    edges: Array
    weights: Array
    a_priori: Array

    @property
    def offset(self) -> float:
        """The part of y that the model does not change, (1 - a) . x_a [mol/m2]."""
        return float((1.0 - self.weights) @ self.a_priori)


@dataclass(frozen=True)
class Observation:
    """Checked observation; see :class:`Observations` for units."""

    station: str
    kind: str
    species: str
    lon: float
    lat: float
    begin: float
    end: float
    value: float
    unit: str
    sigma: float
    where: str
    kernel: Kernel | None = None


@dataclass(frozen=True, eq=False)
class Observations:
    """Observation vector y (p,) with the properties of each element.

    station  identifier of the station, "" for satellites
    kind     "surface": lowest layer; "column": by the kernel
    lon,lat  [degrees], the longitude within the range of the domain
    begin    [s] since the start of the window;  end: of the averaging interval, equal to begin for an instant
    value    in ``unit``, as measured;  sigma: standard deviation of its error, in the same unit
    where    file and line, for messages
    kernels  one for each column, None for surface observations
    """

    station: Names
    kind: Names
    species: Names
    lon: Array
    lat: Array
    begin: Array
    end: Array
    value: Array
    unit: Names
    sigma: Array
    where: Names
    kernels: tuple[Kernel | None, ...]

    @classmethod
    def of(cls, rows: Sequence[Observation]) -> Self:
        """Return the vector of single observations, in their order; raises DataError where there are none."""
        if not rows:
            raise DataError("no observation is left in the domain and the window; check the files and their flags")
        numbers = ("lon", "lat", "begin", "end", "value", "sigma")
        columns: dict[str, Any] = {
            each.name: np.array([getattr(row, each.name) for row in rows], float if each.name in numbers else np.str_)
            for each in fields(cls)
            if each.name != "kernels"
        }
        return cls(**columns, kernels=tuple(row.kernel for row in rows))

    def __len__(self) -> int:
        return self.value.size

    def groups(self) -> dict[str, npt.NDArray[np.intp]]:
        """Return the indices of the observations of each species and kind, as "NO2 surface"."""
        names = np.array([f"{species} {kind}" for species, kind in zip(self.species, self.kind, strict=True)])
        return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}


@dataclass(frozen=True)
class ErrorModel:
    """Errors of observations whose files give none, relative to the value; both parts are independent.

        sigma^2 = instrument^2 + representativeness^2,    each a share of max(|value|, floor)

    floor  lower limit, as a share of the mean of that species and unit: small values have errors as well
    """

    instrument: float = 0.1
    representativeness: float = 0.2
    floor: float = 0.2

    def scale(self, values: Array) -> Array:
        """Return max(|value|, floor), by which the shares are multiplied, for one species and unit."""
        return np.maximum(np.abs(values), self.floor * float(np.mean(np.abs(values))))
