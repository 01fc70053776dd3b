"""Litter: what fell comes to it, and it decays by warmth and moisture; or it is given."""

from airshed.formula import maximum, minimum, where
from airshed.process import Process, flux, number, update, weather


class Litter(Process, section="litter", order=140):
    """Litter decays by 0.03 m t of itself in a day: m = max(0, 1 - ES / 20), t = min(1, (T / 20)^2).

    ES is the potential evaporation from the soil since more than 4 mm of rain fell, T the mean temperature.
    """

    rate = number(0.03, "Share that decays in a warm and wet day.", ge=0.0, le=1.0)
    drying = number(20.0, "Evaporation since rain at which it decays no more [mm].", gt=0.0)
    best_temperature = number(20.0, "Mean temperature from which on decay is full [degC].", gt=0.0)
    wetting = number(4.0, "Rain of a day that wets it [mm].", ge=0.0)
    rain = weather("rain", "mm")
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    given = weather("prescribed_litter", "kg ha-1", optional=True)
    litter_decay = flux("kg ha-1", "Litter that decays", least=0.0)

    @update("evaporation_since_rain", "litter_decay", "litter")
    def decays(
        rate, drying, best_temperature, wetting, rain, warmest, coldest, given, potential_soil_evaporation, detachment,
        evaporation_since_rain, litter,
    ):  # fmt: skip
        """Litter at the end of the day."""
        since = where(rain > wetting, 0.0, evaporation_since_rain + potential_soil_evaporation)
        if given is not None:
            return since, 0.0, given
        warmth = maximum(0.5 * (warmest + coldest), 0.0) / best_temperature
        decay = rate * maximum(1.0 - since / drying, 0.0) * minimum(warmth * warmth, 1.0) * litter
        return since, decay, litter + detachment - decay
