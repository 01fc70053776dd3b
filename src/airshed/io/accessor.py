"""Unit conversion of arrays: ``array.airshed.to("ppb")``, an accessor of xarray's DataArray.

Airshed registers the accessor with the first array that it returns; ``import airshed`` does so where xarray is already
imported. Pint, which the units of case files use, does the arithmetic; pint-xarray would add a package and would not
convert mixing ratios to mass concentrations.
"""

from typing import Any, Final

import xarray as xr

from airshed.core.constants import GAS_CONSTANT, MOLAR_MASS_DRY_AIR
from airshed.core.errors import CaseError
from airshed.core.text import shown
from airshed.core.units import nearest_unit, to, unit_factors

REFERENCE: Final = "reference"
"""Air at 293 K and 101.3 kPa, for which the European Union reports gases in mass concentrations."""

_REFERENCE_AIR: Final = 101.3e3 / (GAS_CONSTANT * 293.0)  # mol m-3
_RATIO, _CONCENTRATION, _AMOUNT = "mol/mol", "kg/m3", "mol/m3"
_HINT: Final = 'pass air=sim["air_density"] of the same time, or air="reference" for 293 K and 101.3 kPa'


@xr.register_dataarray_accessor("airshed")  # type: ignore[no-untyped-call]
class AirshedAccessor:
    """Unit conversion of a DataArray whose attribute ``units`` names its unit."""

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    @property
    def units(self) -> str:
        """The unit of the array. Raises CaseError for an array without the attribute ``units``."""
        unit = self._array.attrs.get("units")
        if not isinstance(unit, str):
            raise CaseError(f"{self._name} has no unit: set its attribute units, such as 'mol mol-1'")
        return unit

    def to(self, unit: str, *, air: xr.DataArray | str | None = None, molar_mass: float | None = None) -> xr.DataArray:
        """Return the array in another unit.

        Parameters
        ----------
        unit
            The new unit, such as ``"ppb"``, ``"ug/m3"`` or ``"degC"``.
        air
            Density of the air [mol m-3 or kg m-3], which conversions between a mixing ratio and a mass concentration
            require: an array that broadcasts, or ``"reference"`` for 293 K and 101.3 kPa.
        molar_mass
            Molar mass of the species [kg mol-1], by default the attribute ``molar_mass`` of the array.

        Returns
        -------
        xarray.DataArray
            The converted values with the same coordinates; the attribute ``units`` is the new unit.

        Raises
        ------
        CaseError
            If a unit is missing or unknown, if the units measure different quantities, or if a density or a molar mass
            is missing.

        Examples
        --------
        >>> sim["O3"].airshed.to("ppb")
        >>> sim["NO2"].airshed.to("ug/m3", air=sim["air_density"])
        """
        if _is_in(self.units, _RATIO) and _is_in(unit, _CONCENTRATION):
            mass = self._in(_RATIO) * self._molar_mass(molar_mass) * self._amount_of_air(air, unit)
            return self._result(mass, _CONCENTRATION, unit, "Mass concentration")
        if _is_in(self.units, _CONCENTRATION) and _is_in(unit, _RATIO):
            ratio = self._in(_CONCENTRATION) / (self._molar_mass(molar_mass) * self._amount_of_air(air, unit))
            return self._result(ratio, _RATIO, unit, "Mixing ratio")
        converted = self._in(unit)
        converted.attrs = {**self._array.attrs, "units": unit}
        return converted

    @property
    def _name(self) -> str:
        return "the array" if self._array.name is None else str(self._array.name)

    def _in(self, unit: str) -> xr.DataArray:
        offset, factor = _conversion(self.units, unit, self._name)
        return self._array * factor if offset == 0.0 else self._array * factor + offset

    def _molar_mass(self, given: float | None) -> float:
        """Return the molar mass [kg mol-1]; raise CaseError where it is not known."""
        known: Any = self._array.attrs.get("molar_mass") if given is None else given
        if known is None:
            raise CaseError(
                f"the molar mass of {self._name} is not known: take a mixing ratio such as ppb, or "
                "array.airshed.to(unit, air=..., molar_mass=...) in kg/mol"
            )
        return float(known)

    def _amount_of_air(self, air: xr.DataArray | str | None, unit: str) -> xr.DataArray | float:
        """Return the amount of air [mol m-3]; raise CaseError where it is not known."""
        if isinstance(air, str) and air == REFERENCE:
            return _REFERENCE_AIR
        if not isinstance(air, xr.DataArray):
            raise CaseError(f"{self._name} in {self.units} to {unit} requires the density of the air: {_HINT}")
        own = AirshedAccessor(air)
        if _is_in(own.units, _AMOUNT):
            return own._in(_AMOUNT)
        return own._in(_CONCENTRATION) / MOLAR_MASS_DRY_AIR

    def _result(self, values: xr.DataArray, si_unit: str, unit: str, quantity: str) -> xr.DataArray:
        """Return values [si_unit] of another quantity in the requested unit."""
        _, factor = _conversion(si_unit, unit, self._name)
        converted = values * factor
        attributes = {key: each for key, each in self._array.attrs.items() if key != "standard_name"}
        words = str(attributes.get("long_name", ""))
        for earlier in ("Mixing ratio", "Mass concentration"):
            if words.startswith(earlier):
                attributes["long_name"] = quantity + words.removeprefix(earlier)
        converted.attrs = {**attributes, "units": unit}
        return converted.rename(self._array.name)


def _is_in(unit: str, other: str) -> bool:
    """Return whether values in one unit can be converted to another of the same quantity."""
    try:
        to(f"1 {unit}", other, where="unit")
    except CaseError:
        return False
    return True


def _check_unit(unit: object, own: str, name: str) -> None:
    """Raise CaseError for a unit that does not exist."""
    if not isinstance(unit, str) or unit_factors(unit) is None or not _is_in(unit, unit):
        match = nearest_unit(str(unit))
        hint = f"did you mean {match}?" if match else f"{name} is in {own}, so take {_examples(own)}"
        raise CaseError(f"unit = {shown(unit)} is not a unit that Airshed recognises; {hint}")


def _examples(unit: str) -> str:
    """Return units in which a field of a unit can be shown."""
    others = {_RATIO: '"ppb" or "ug/m3"', "K": '"degC"', "Pa": '"hPa"', "m": '"km"'}
    return next((names for base, names in others.items() if _is_in(unit, base)), f'"{unit}"')


def _conversion(unit: str, other: str, name: str) -> tuple[float, float]:
    """Return the offset and the factor from one unit to another. Raises CaseError for units of other quantities."""
    _check_unit(other, unit, name)
    is_ratio = _is_in(other, _RATIO)
    base = _RATIO if is_ratio else other
    if not _is_in(unit, base):
        raise CaseError(f"{name} is in {unit}, which cannot be converted to {other}")
    if is_ratio:
        return 0.0, to(f"1 {unit}", _RATIO, where=name) / to(f"1 {other}", _RATIO, where=name)
    offset = to(f"0 {unit}", other, where=name)
    return offset, to(f"1 {unit}", other, where=name) - offset
