"""Daily vapour pressure deficit from the humidity of the weather."""

from airshed.core.errors import FormulaError
from airshed.formula import maximum
from airshed.models.pasture.forms import saturation_pressure
from airshed.process import Process, choice, flux, update, weather

GIVEN = ("vapour_pressure", "deficit", "temperature")


def _required(value, name, given):
    """Return weather that the case declares; raises FormulaError if it is missing."""
    if value is None:
        raise FormulaError(f'humidity.given = "{given}", but the weather has no {name}; change humidity.given')
    return value


class Humidity(Process, section="humidity", order=10):
    """Daily deficit: as given, or 0.75 es(Tmax) + 0.25 es(Tmin) - e, or es(Tmax) - es(Tmin) without humidity.

    Source of the weights: Tanner and Sinclair (1983); without humidity as GRASP in APSIM.
    """

    given = choice("vapour_pressure", GIVEN, "Quantity of humidity in the weather; temperature means no humidity.")
    pressure = weather("vapour_pressure", "hPa", optional=True)
    deficit = weather("vapour_pressure_deficit", "hPa", optional=True)
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    saturation_deficit = flux("hPa", "Vapour pressure deficit", least=0.0)

    @update("saturation_deficit")
    def compute_deficit(given, pressure, deficit, warmest, coldest):
        """Return the deficit from the declared humidity."""
        if given == "temperature":
            return saturation_pressure(warmest) - saturation_pressure(coldest)
        if given == "deficit":
            return _required(deficit, "vapour_pressure_deficit", given)
        saturated = 0.75 * saturation_pressure(warmest) + 0.25 * saturation_pressure(coldest)
        return maximum(saturated - _required(pressure, "vapour_pressure", given), 0.0)
