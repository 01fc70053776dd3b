"""Basal area of grass: constant, or by the water that the last two summers used."""

from airshed.formula import where
from airshed.models.pasture.forms import clamp, is_within
from airshed.process import Process, number, switch, update, weather


class BasalArea(Process, section="basal_area", order=170):
    """At the end of summer basal area is what the summer before made plus 0.001 e ET, e the efficiency (p288).

    ET is evaporation from the soil and transpiration of the pasture in summer.
    """

    varies = switch(False, "Whether basal area varies.")
    least = number(0.5, "Least basal area [%].", ge=0.0)
    most = number(9.0, "Most basal area [%].", gt=0.0)
    day = weather("day_of_year", "d")

    def is_on(self) -> bool:
        """Whether basal area varies."""
        return bool(self.varies)

    @update("basal_area", "summer_evapotranspiration", "last_summer_basal_area")
    def follows(
        day, least, most, summer_start, summer_end, basal_area_efficiency, soil_evaporation, transpiration, basal_area,
        summer_evapotranspiration, last_summer_basal_area,
    ):  # fmt: skip
        """Sum of the water that summer uses, and basal area at its end."""
        summer = is_within(day, summer_start, summer_end)
        used = summer_evapotranspiration + where(summer, soil_evaporation + transpiration, 0.0)
        ends = day == summer_end
        made = 0.001 * basal_area_efficiency * used
        return (
            where(ends, clamp(last_summer_basal_area + made, least, most), basal_area),
            where(ends, 0.0, used),
            where(ends, made, last_summer_basal_area),
        )
