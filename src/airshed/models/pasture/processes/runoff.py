"""Runoff by curve numbers that follow cover and wetness, and the soil that it carries away.

The rest of the rain goes into the first layer.
"""

from airshed.formula import maximum, minimum, where
from airshed.models.pasture.forms import clamp, ratio
from airshed.process import Process, choice, flux, number, switch, update, weather


class Runoff(Process, section="runoff", order=30):
    """Runoff of a day's rain P: (P - 0.2 S)^2 / (P + 0.8 S), S = 254 (100 / CN - 1) mm.

    Source: United States Soil Conservation Service (1972), National engineering handbook 4; Littleboy et al. (1992),
    Aust. J. Soil Res. 30, 757-774, for the reduction by cover and the conditions I and III.
    """

    cover = choice("surface", ("surface", "yield"), "Cover that reduces runoff: of the surface, or by standing matter.")
    trace = number(1e-6, "Standing matter below which it covers nothing [kg/ha].", gt=0.0)
    rain = weather("rain", "mm")
    runoff_cover = flux("1", "Cover that reduces runoff", least=0.0, most=1.0)
    runoff = flux("mm", "Rain that runs off", least=0.0)
    infiltration = flux("mm", "Rain that goes into the soil", least=0.0)

    @update("runoff_cover")
    def covers(
        cover, trace, surface_cover, green_leaf, green_stem, dead_leaf, dead_stem, runoff_yield, runoff_power
    ):  # fmt: skip
        """Cover of the surface, or T^p / (T^p + Y^p) of standing dry matter T."""
        if cover == "surface":
            return surface_cover
        standing = green_leaf + green_stem + dead_leaf + dead_stem
        by_yield = 1.0 / (1.0 + (runoff_yield / maximum(standing, trace)) ** runoff_power)
        return where(standing > trace, by_yield, 0.0)

    @update("runoff", "infiltration", "water_1")
    def runs_off(
        rain, runoff_cover, curve_number, curve_number_reduction, curve_number_cover, water, lower_limit,
        drained_upper_limit, runoff_weight,
    ):  # fmt: skip
        """The curve number lies between those of dry and wet soil."""
        wet_share = ratio(water - lower_limit, drained_upper_limit - lower_limit)
        wetness = clamp(sum(runoff_weight * wet_share), 0.0, 1.0)
        covered = clamp(ratio(runoff_cover, curve_number_cover), 0.0, 1.0)
        medium = clamp(curve_number - curve_number_reduction * covered, 0.0, 100.0)
        dry = medium / (2.334 - 0.01334 * medium)
        wet = medium / (0.4036 + 0.005964 * medium)
        retention = 254.0 * (100.0 / maximum(dry + (wet - dry) * wetness, 0.01) - 1.0)
        excess = maximum(rain - 0.2 * retention, 0.0)
        # Where all runs off, rounding must not make it more than the rain.
        runoff = minimum(ratio(excess * excess, rain + 0.8 * retention), rain)
        return runoff, rain - runoff, water[0] + rain - runoff


class Erosion(Process, section="erosion", order=180):
    """Loss of soil in t/ha: 0.1 q LS K P of runoff, q = 16.52 - 0.46 c + 0.0031 c^2 at a cover c below 50 %.

    Above it is 2.54 - 0.0254 c. Source: Freebairn and Wockner (1986), Aust. J. Soil Res. 24, 135-158; Freebairn et al.
    (1989) for the form with factors of slope.
    """

    on = switch(False, "Whether the loss of soil is computed.")
    soil_loss = flux("t ha-1", "Loss of soil", least=0.0)

    def is_on(self) -> bool:
        """Whether the loss of soil is computed."""
        return bool(self.on)

    @update("soil_loss")
    def erodes(runoff, surface_cover, erosion_factor):
        """Of the sediment in runoff, by cover."""
        cover = 100.0 * surface_cover
        sparse = 16.52 - 0.46 * cover + 0.0031 * cover * cover
        sediment = where(cover < 50.0, sparse, maximum(2.54 - 0.0254 * cover, 0.0))
        return 0.1 * sediment * erosion_factor * runoff
