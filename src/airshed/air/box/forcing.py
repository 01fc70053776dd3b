"""The conditions of a box as numbers at given times."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.air.box.conditions import BoxConditions
from airshed.air.solar import cos_zenith
from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.core.errors import CaseError
from airshed.core.formula import Formula, Given, evaluate_all, parse
from airshed.core.nearest import suggestion
from airshed.mechanism.expressions import dependencies
from airshed.mechanism.network import ReactionNetwork

Array = npt.NDArray[np.float64]

_SECONDS_PER_DEGREE: Final = 240.0
_NUMBER_DENSITY: Final = f"/({BOLTZMANN!r}*T)*1e-6"
_DERIVED: Final = {  # what follows from what is given; for H2O: Bolton 1980, Mon. Weather Rev. 108, 1046-1053
    "p": f"M*1e6*{BOLTZMANN!r}*T",
    "M": f"p{_NUMBER_DENSITY}",
    "O2": f"{OXYGEN_FRACTION!r}*M",
    "N2": f"{NITROGEN_FRACTION!r}*M",
    "H2O": f"humidity*611.2*exp(17.67*(T - 273.15)/(T - 29.65)){_NUMBER_DENSITY}",
    "SUN": "where(daylight > 0, 1/sec_zenith, 0)",
}
_ABOVE_ZERO: Final = ("T", "p", "M")


class BoxForcing:
    """Evaluates the conditions of a box, all times at once.

    species named in them are checked against the mechanism, and what its rates need must be there.
    Raises CaseError with the key, and the nearest name for one that is unknown.
    """

    def __init__(self, conditions: BoxConditions, network: ReactionNetwork) -> None:
        self.initial = _by_species("initial", conditions.initial, network)
        self.emitted = _by_species("emission", conditions.emission, network)
        self.deposited = _by_species("deposition", conditions.deposition, network)
        self._location = conditions.environment.location
        self._keys: dict[str, str] = {}
        self._constants: dict[str, float] = {}
        self._formulas: dict[str, Formula] = {}
        self._add_air(conditions)
        self._add_sun(conditions)
        self._names = network.names
        for section, values in (("emission", self.emitted), ("deposition", self.deposited)):
            for number, value in values.items():
                self._add(f"{section} {number}", f"{section}.{network.names[number]}", value)
        self._check_needs(network)

    def at(self, times: Array) -> dict[str, Array]:
        """Return every named value at times [s since local midnight of the first day], a number where it is constant.

        T [K], p [Pa], M, O2, N2, H2O [molecules cm-3], sec_zenith, daylight [1], "emission N" [molecules cm-3 s-1] and
        "deposition N" [s-1] of species N. Raises CaseError where one of them is not finite, or below zero.
        """
        named: dict[str, npt.ArrayLike] = {"t": times, **self._constants}
        if self._location is not None:
            named["cos_zenith"] = self._cosine(times)
        values = {name: np.asarray(value) for name, value in self._constants.items()}
        values |= evaluate_all(self._formulas, named)
        night = values["daylight"] == 0.0
        values["sec_zenith"] = np.where(night, 1.0, values["sec_zenith"])
        for name, value in values.items():
            self._check(name, value, times)
        return values

    def start(self, time: float, air: Mapping[str, Array]) -> dict[int, float]:
        """Return the number density [molecules cm-3] of the species that are named at the start."""
        named: dict[str, npt.ArrayLike] = {"t": time, **{name: value for name, value in air.items() if " " not in name}}
        densities = {}
        for number, value in self.initial.items():
            key = f"initial.{self._names[number]}"
            amount = value.value
            if value.formula is not None:
                amount = float(evaluate_all({key: replace(value.formula, where=key)}, named)[key])
            if not 0.0 <= amount < np.inf:
                raise CaseError(f"{key} = {value.text!r} is {amount:g}; it must be finite and not below 0")
            densities[number] = amount * (float(air["M"]) if value.unit == "mol/mol" else 1.0)
        return densities

    def _add_air(self, conditions: BoxConditions) -> None:
        environment, fixed = conditions.environment, conditions.fixed
        self._add("T", "environment.temperature", environment.temperature)
        for name, value in (("p", environment.pressure), ("humidity", environment.humidity)):
            if value is not None:
                self._add(name, f"environment.{'pressure' if name == 'p' else name}", value)
        for name in ("M", "O2", "N2", "H2O"):
            value = getattr(fixed, name)
            if value is not None:
                self._add(name, f"fixed.{name}", value)
        derived = ("p", "M", "O2", "N2", *(("H2O",) if environment.humidity is not None else ()))
        self._derive({name: _DERIVED[name] for name in derived})

    def _add_sun(self, conditions: BoxConditions) -> None:
        rates = conditions.rates
        for name in ("sec_zenith", "SUN", "daylight"):
            value = getattr(rates, name)
            if value is not None:
                self._add(name, f"rates.{name}", value)
        self.has_sun = True
        if rates.sec_zenith is not None:
            self._derive({"daylight": "sec_zenith > 0", "SUN": _DERIVED["SUN"]})
        elif rates.SUN is not None or self._location is not None:
            self._derive({"SUN": "max(cos_zenith, 0)", "daylight": "SUN > 0", "sec_zenith": "1/max(SUN, 0.001)"})
        else:
            self.has_sun = False
            self._derive({"daylight": "0", "sec_zenith": "1"})

    def _add(self, name: str, key: str, value: Given) -> None:
        self._keys[name] = key
        if value.formula is None:
            self._constants[name] = value.value
        else:
            self._formulas[name] = replace(value.formula, where=key)

    def _derive(self, texts: Mapping[str, str]) -> None:
        """Add the formulas of what is not given."""
        for name, text in texts.items():
            if name not in self._keys:
                self._keys[name] = name
                self._formulas[name] = parse(text, where=name)

    def _check_needs(self, network: ReactionNetwork) -> None:
        needed = {need for constant in network.rate_constants for need in dependencies(constant)}
        if "photolysis" in needed and not self.has_sun:
            raise CaseError(
                f"mechanism {network.name!r} has photolysis: give rates.sec_zenith, rates.SUN or environment.location"
            )
        if "H2O" not in self._keys:
            if "water" in needed:
                raise CaseError(f"mechanism {network.name!r} needs water: give environment.humidity or fixed.H2O")
            self._derive({"H2O": "0"})

    def _cosine(self, times: Array) -> Array:
        """The cosine of the solar zenith angle, local time being UTC + lon/15 h."""
        assert self._location is not None
        utc = np.asarray(times) - _SECONDS_PER_DEGREE * self._location.lon
        midnight = np.datetime64(self._location.date, "ns")
        return cos_zenith(
            midnight + np.round(utc * 1e9).astype("timedelta64[ns]"), self._location.lon, self._location.lat
        )

    def _check(self, name: str, value: Array, times: Array) -> None:
        """Refuse a value that is not finite, or below zero, with the time at which it is first so."""
        above = name in _ABOVE_ZERO or name == "sec_zenith"
        wrong = ~(np.isfinite(value) & ((value > 0.0) if above else (value >= 0.0)))
        if not wrong.any():
            return
        first = int(np.argmax(wrong)) if wrong.ndim else 0
        found = float(value.reshape(-1)[first if value.ndim else 0])
        formula = self._formulas.get(name)
        text = f" = {formula.text!r}" if formula is not None else ""
        time = f" at t = {float(np.reshape(times, -1)[first]):g} s" if wrong.ndim else ""
        wanted = "above 0" + " while daylight is not 0" * (name == "sec_zenith") if above else "not below 0"
        raise CaseError(f"{self._keys[name]}{text} is {found:g}{time}; it must be finite and {wanted}")


def _by_species(section: str, values: Mapping[str, Given], network: ReactionNetwork) -> dict[int, Given]:
    """Return values by species number; raises CaseError for a name that is no species, or one that stands twice."""
    numbers = {name.casefold(): number for number, name in enumerate(network.names)}
    found: dict[int, Given] = {}
    for name, value in values.items():
        number = numbers.get(name.casefold())
        if number is None:
            raise CaseError(f"{section}.{name}: no species of {network.name}; {suggestion(name, network.names)}")
        if number in found:
            raise CaseError(f"{section}.{name} stands twice: names differ by more than the case of letters")
        found[number] = value
    return found


def constant_fraction(key: str, part: Array, air: Array) -> float:
    """Return part/air, which must not change in time: the kernel takes it as one number; raises CaseError."""
    fraction = np.asarray(part / air)
    if np.ptp(fraction) > 1e-9 * float(np.max(fraction)):
        raise CaseError(f"{key} must be a constant fraction of M; write it as a formula such as 0.2095*M")
    return float(fraction.reshape(-1)[0])
