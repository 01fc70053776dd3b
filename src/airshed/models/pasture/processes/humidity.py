"""Deficit of vapour pressure of a day, from the humidity that its weather has."""

from airshed.core.errors import FormulaError
from airshed.formula import maximum
from airshed.models.pasture.forms import saturation_pressure
from airshed.process import Process, choice, flux, update, weather

GIVEN = ("vapour_pressure", "deficit", "temperature")


def _there(value, name, given):
    """Return weather that must be there as the case declares it."""
    if value is None:
        raise FormulaError(f'humidity.given = "{given}", and the weather has no {name}; say what it has')
    return value


class Humidity(Process, section="humidity", order=10):
    """The deficit of the day: as given, or 0.75 es(Tmax) + 0.25 es(Tmin) - e, or es(Tmax) - es(Tmin) without humidity.

    Source of the weights: Tanner and Sinclair (1983); without humidity as GRASP in APSIM.
    """

    given = choice("vapour_pressure", GIVEN, "What the weather says of humidity; with temperature alone: nothing.")
    pressure = weather("vapour_pressure", "hPa", optional=True)
    deficit = weather("vapour_pressure_deficit", "hPa", optional=True)
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    saturation_deficit = flux("hPa", "Deficit of vapour pressure", least=0.0)

    @update("saturation_deficit")
    def dries(given, pressure, deficit, warmest, coldest):
        """By the humidity that the case declares."""
        if given == "temperature":
            return saturation_pressure(warmest) - saturation_pressure(coldest)
        if given == "deficit":
            return _there(deficit, "vapour_pressure_deficit", given)
        saturated = 0.75 * saturation_pressure(warmest) + 0.25 * saturation_pressure(coldest)
        return maximum(saturated - _there(pressure, "vapour_pressure", given), 0.0)
