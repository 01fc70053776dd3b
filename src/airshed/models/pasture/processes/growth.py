"""Growth, by transpiration and light once there is leaf, from the tussocks before; basal area, which summers change."""

from airshed.formula import exp, maximum, minimum, where
from airshed.models.pasture.forms import clamp, is_within, ratio
from airshed.process import Process, flux, number, switch, update, weather


class Growth(Process, section="growth", order=90):
    """Growth max(min(by transpiration, by light), from tussocks); none where the soil water index is too low.

        by transpiration  Tr te 20 / max(1, deficit)
        by light          12 cr R min(tix, nix)
        from tussocks     preg BA nix tix rix SWI

    with indices of temperature (tix), nitrogen (nix), light (rix) and soil water (SWI). Source: McKeon et al. (1990).
    """

    coldest_growth = number(14.0, "Mean temperature up to which nothing grows [degC].")
    first_best = number(24.0, "Mean temperature from which on growth is full [degC].")
    last_best = number(45.0, "Mean temperature up to which growth is full [degC].")
    hottest_growth = number(50.0, "Mean temperature from which on nothing grows [degC].")
    half_light = number(8.97, "Scale of the index of light [MJ/m2].", gt=0.0)
    light_use = number(12.0, "Growth by light [kg/ha for 1 MJ/m2] (p008).", ge=0.0)
    standard_deficit = number(20.0, "Deficit of the efficiency of transpiration [hPa].", gt=0.0)
    leaf_share = number(0.5, "Share of growth that is leaf (p123).", ge=0.0, le=1.0)
    stem_threshold = number(0.0, "Green matter up to which all growth is leaf [kg/ha] (p124).", ge=0.0)
    radiation = weather("radiation", "MJ m-2")
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    temperature_index = flux("1", "What temperature leaves of growth", least=0.0, most=1.0)
    radiation_index = flux("1", "What light leaves of growth", least=0.0, most=1.0)
    growth_index = flux("1", "What temperature, light and soil water leave of growth", least=0.0, most=1.0)
    light_growth = flux("kg ha-1", "Growth that light allows", least=0.0)
    growth = flux("kg ha-1", "Growth", least=0.0)
    leaf_growth = flux("kg ha-1", "Growth of leaf", least=0.0)

    @update("temperature_index", "radiation_index", "growth_index")
    def could_grow(
        warmest, coldest, radiation, soil_water_index, coldest_growth, first_best, last_best, hottest_growth, half_light
    ):  # fmt: skip
        """Indices of temperature, light, and all that is not nitrogen."""
        mean = 0.5 * (warmest + coldest)
        rising = ratio(mean - coldest_growth, first_best - coldest_growth)
        falling = ratio(hottest_growth - mean, hottest_growth - last_best)
        warmth = clamp(minimum(rising, falling), 0.0, 1.0)
        light = 1.0 - exp(-radiation / half_light)
        return warmth, light, warmth * light * soil_water_index

    @update("light_growth", "growth", "leaf_growth")
    def grows(
        transpiration, saturation_deficit, ground_dryness, radiation, radiation_cover, temperature_index,
        nitrogen_index, growth_index, soil_water_index, basal_area, green_leaf, green_stem, transpiration_efficiency,
        tussock_growth, no_growth_water, standard_deficit, light_use, leaf_share, stem_threshold,
    ):  # fmt: skip
        """Growth by light, growth, and its leaf."""
        deficit = maximum(saturation_deficit * ground_dryness, 1.0)
        by_water = transpiration * transpiration_efficiency * standard_deficit / deficit
        by_light = light_use * radiation_cover * radiation * minimum(temperature_index, nitrogen_index)
        from_tussocks = tussock_growth * basal_area * nitrogen_index * growth_index
        growth = maximum(minimum(by_water, by_light), from_tussocks)
        growth = where(soil_water_index > no_growth_water, growth, 0.0)
        share = where(green_leaf + green_stem > stem_threshold, leaf_share, 1.0)
        return by_light, growth, share * growth


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
