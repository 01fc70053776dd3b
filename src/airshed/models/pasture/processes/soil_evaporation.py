"""Evaporation from the soil, by Rickert's or by Ritchie's method; with the second one, flow of unsaturated soil."""

from airshed.models.pasture.evaporation import priestley_taylor, rickert, ritchie, unsaturated_flow
from airshed.models.pasture.forms import layers
from airshed.process import Process, choice, flux, update, weather


class SoilEvaporation(Process, section="soil_evaporation", order=50):
    """Evaporation from the soil, of the potential that covers leave; see :mod:`airshed.models.pasture.evaporation`."""

    method = choice("rickert", ("rickert", "ritchie"), "How much of its potential evaporates.")
    potential = choice("pan", ("pan", "priestley_taylor"), "Potential evaporation: of the pan, or by radiation.")
    pan = weather("pan_evaporation", "mm")
    radiation = weather("radiation", "MJ m-2")
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    potential_soil_evaporation = flux("mm", "Potential evaporation from the soil", least=0.0)
    soil_evaporation = flux("mm", "Evaporation from the soil", least=0.0)

    @update("potential_soil_evaporation")
    def could_evaporate(potential, pan, radiation, warmest, coldest, albedo, green_cover, evaporation_share):
        """Potential evaporation from the soil."""
        total = pan if potential == "pan" else priestley_taylor(radiation, warmest, coldest, albedo, green_cover)
        return total * evaporation_share

    @update("water_1", "water_2", "soil_evaporation", "stage_1", "stage_2", "stage_2_days")
    def evaporates(
        method, potential_soil_evaporation, infiltration, water_1, water_2, stage_1, stage_2, stage_2_days,
        air_dry_1, lower_limit_2, drained_upper_limit_1, drained_upper_limit_2, evaporation_limit,
        first_stage_evaporation, second_stage_evaporation,
    ):  # fmt: skip
        """By one method or the other."""
        if method == "rickert":
            first, second = rickert(
                potential_soil_evaporation, water_1, water_2, air_dry_1, lower_limit_2, drained_upper_limit_1,
                drained_upper_limit_2, evaporation_limit,
            )  # fmt: skip
            return water_1 - first, water_2 - second, first + second, stage_1, stage_2, stage_2_days
        evaporation, *stages = ritchie(
            potential_soil_evaporation, infiltration, water_1 - air_dry_1, (stage_1, stage_2, stage_2_days),
            first_stage_evaporation, second_stage_evaporation,
        )  # fmt: skip
        return water_1 - evaporation, water_2, evaporation, *stages

    @update(*layers("water"))
    def flows(
        method, diffusivity, diffusivity_slope, water_1, water_2, water_3, water_4,
        thickness_1, thickness_2, thickness_3, thickness_4, lower_limit_1, lower_limit_2, lower_limit_3, lower_limit_4,
        drained_upper_limit_1, drained_upper_limit_2, drained_upper_limit_3, drained_upper_limit_4,
    ):  # fmt: skip
        """From layer to layer, from the top."""
        water = [water_1, water_2, water_3, water_4]
        if method == "rickert":
            return water
        soil = (
            (thickness_1, lower_limit_1, drained_upper_limit_1),
            (thickness_2, lower_limit_2, drained_upper_limit_2),
            (thickness_3, lower_limit_3, drained_upper_limit_3),
            (thickness_4, lower_limit_4, drained_upper_limit_4),
        )
        for upper in range(3):
            lower = upper + 1
            up = unsaturated_flow(
                (water[upper], *soil[upper]), (water[lower], *soil[lower]), diffusivity, diffusivity_slope
            )
            water[upper], water[lower] = water[upper] + up, water[lower] - up
        return water
