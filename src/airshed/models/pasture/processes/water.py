"""Soil water: runoff and erosion, drainage, evaporation, and the transpiration of trees and pasture."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from airshed.formula import exp, maximum, minimum, sin, sqrt, where
from airshed.models.pasture.forms import Value, clamp, competition, ratio
from airshed.process import Process, choice, flux, number, switch, update, weather


class Runoff(Process, section="runoff", order=30):
    """Runoff of daily rain P: (P - 0.2 S)^2 / (P + 0.8 S), S = 254 (100 / CN - 1) mm.

    Source: United States Soil Conservation Service (1972), National engineering handbook 4; Littleboy et al. (1992),
    Aust. J. Soil Res. 30, 757-774, for the reduction by cover and the conditions I and III.
    """

    cover = choice("surface", ("surface", "yield"), "Cover that reduces runoff: surface cover, or by standing matter.")
    trace = number(1e-6, "Maximum standing matter without cover [kg/ha].", gt=0.0)
    rain = weather("rain", "mm")
    runoff_cover = flux("1", "Cover that reduces runoff", least=0.0, most=1.0)
    runoff = flux("mm", "Runoff", least=0.0)
    infiltration = flux("mm", "Infiltration", least=0.0)

    @update("runoff_cover")
    def compute_cover(
        cover, trace, surface_cover, green_leaf, green_stem, dead_leaf, dead_stem, runoff_yield, runoff_power
    ):  # fmt: skip
        """Return the surface cover, or T^p / (T^p + Y^p) of standing dry matter T."""
        if cover == "surface":
            return surface_cover
        standing = green_leaf + green_stem + dead_leaf + dead_stem
        by_yield = 1.0 / (1.0 + (runoff_yield / maximum(standing, trace)) ** runoff_power)
        return where(standing > trace, by_yield, 0.0)

    @update("runoff", "infiltration", "water_1")
    def compute_runoff(
        rain, runoff_cover, curve_number, curve_number_reduction, curve_number_cover, water, lower_limit,
        drained_upper_limit, runoff_weight,
    ):  # fmt: skip
        """Return runoff, infiltration and water; the curve number is between those of dry and wet soil."""
        wet_share = ratio(water - lower_limit, drained_upper_limit - lower_limit)
        wetness = clamp(sum(runoff_weight * wet_share), 0.0, 1.0)
        covered = clamp(ratio(runoff_cover, curve_number_cover), 0.0, 1.0)
        medium = clamp(curve_number - curve_number_reduction * covered, 0.0, 100.0)
        dry = medium / (2.334 - 0.01334 * medium)
        wet = medium / (0.4036 + 0.005964 * medium)
        retention = 254.0 * (100.0 / maximum(dry + (wet - dry) * wetness, 0.01) - 1.0)
        excess = maximum(rain - 0.2 * retention, 0.0)
        # Prevent runoff above the rain by round-off.
        runoff = minimum(ratio(excess * excess, rain + 0.8 * retention), rain)
        return runoff, rain - runoff, water[0] + rain - runoff


class Erosion(Process, section="erosion", order=180):
    """Soil loss in t/ha: 0.1 q LS K P per mm of runoff, q = 16.52 - 0.46 c + 0.0031 c^2 at a cover c below 50 %.

    At larger cover q = 2.54 - 0.0254 c. Source: Freebairn and Wockner (1986), Aust. J. Soil Res. 24, 135-158; Freebairn
    et al. (1989) for the form with factors of slope.
    """

    on = switch(False, "Whether soil loss is computed.")
    soil_loss = flux("t ha-1", "Soil loss", least=0.0)

    def is_on(self) -> bool:
        """Return True if soil loss is computed."""
        return bool(self.on)

    @update("soil_loss")
    def compute_soil_loss(runoff, surface_cover, erosion_factor):
        """Return the soil loss from the sediment concentration, which depends on cover."""
        cover = 100.0 * surface_cover
        sparse = 16.52 - 0.46 * cover + 0.0031 * cover * cover
        sediment = where(cover < 50.0, sparse, maximum(2.54 - 0.0254 * cover, 0.0))
        return 0.1 * sediment * erosion_factor * runoff


# Drainage from layer to layer: all water above saturation, and a fraction of that above the drained upper limit.


class Drainage(Process, section="drainage", order=40):
    """Drainage of each layer from the top: max(W - SAT, 0) + k max(min(W, SAT) - DUL, 0), with W including inflow."""

    drainage = flux("mm", "Drainage below the last layer", least=0.0)

    @update("water", "drainage")
    def drain(water, saturation, drained_upper_limit, drainage_share):
        """Drain the layers from top to bottom."""
        left, inflow = [], 0.0
        for held, most, limit, share in zip(water, saturation, drained_upper_limit, drainage_share, strict=True):
            total = held + inflow
            excess = maximum(total - most, 0.0)
            outflow = excess + share * maximum(total - excess - limit, 0.0)
            left.append(total - outflow)
            inflow = outflow
        return left, inflow


# Evaporation from the soil by Rickert's or Ritchie's method; the latter includes unsaturated flow.


def priestley_taylor(radiation: Value, warmest: Value, coldest: Value, albedo: Value, green_cover: Value) -> Value:
    """Return potential evaporation [mm] from radiation [MJ m-2], temperatures [degC] and the albedo of bare soil.

        Eeq = 23.8846 R (0.000204 - 0.000183 a) (0.6 Tmax + 0.4 Tmin + 29),  a = 0.23 - (0.23 - albedo) (1 - cg)

    times 1.1, which increases above 35 degC; below 5 degC the factor is 0.01 exp(0.18 (Tmax + 20)). Source: Priestley
    and Taylor (1972); Jones and Kiniry (1986), CERES-Maize, for the form and the factors.
    """
    reflected = 0.23 - (0.23 - albedo) * (1.0 - green_cover)
    equilibrium = 23.8846 * radiation * (0.000204 - 0.000183 * reflected) * (0.6 * warmest + 0.4 * coldest + 29.0)
    hot = 1.1 + 0.05 * maximum(warmest - 35.0, 0.0)
    factor: Value = where(warmest < 5.0, 0.01 * exp(0.18 * (minimum(warmest, 5.0) + 20.0)), hot)
    return maximum(equilibrium * factor, 0.0)


def rickert(
    potential: Value, water: Sequence[Value], dry: Sequence[Value], limit: Sequence[Value], most: Value
) -> tuple[Value, Value]:  # fmt: skip
    """Return evaporation [mm] from the first and from the second layer.

        r1  = C((W1 - AD1) / (DUL1 - AD1), 0.285)
        r12 = C((W1 + W2 - AD1 - LL2) / (DUL1 + DUL2 - AD1 - LL2), 0.117),   C(x, a) = a x / (1 + (a - 1) x)

    limited to 0 to 1. The evaporation is r1 Eos from the first layer, and max(r12 - r1, 0) Eos from the second, with a
    sum of at most `most`. Source: Rickert and McKeon (1982), WATSUP, in McKeon et al. (1990).

    dry    AD1, LL2
    limit  DUL1, DUL2
    """
    both_dry = dry[0] + dry[1]
    top = clamp(water[0] - dry[0], 0.0, limit[0] - dry[0])
    both = clamp(water[0] + water[1] - both_dry, 0.0, limit[0] + limit[1] - both_dry)
    share_1 = competition(ratio(top, limit[0] - dry[0]), 0.285)
    share_both = competition(ratio(both, limit[0] + limit[1] - both_dry), 0.117)
    first = clamp(share_1 * potential, 0.0, minimum(most, maximum(water[0] - dry[0], 0.0)))
    rest = minimum(most - first, maximum(water[1] - dry[1], 0.0))
    return first, clamp((share_both - share_1) * potential, 0.0, rest)


def ritchie(
    potential: Value, infiltration: Value, available: Value, stages: tuple[Value, Value, Value], most_1: Value,
    rate_2: Value,
) -> tuple[Value, Value, Value, Value]:  # fmt: skip
    """Return the evaporation [mm], the cumulative evaporation of both stages [mm], and the days of the second stage.

    In the first stage evaporation is at the potential rate until its sum is `most_1`. In the second stage the sum is
    rate_2 sqrt(t) after t days. On the day between them 0.6 of the rest evaporates, unless a second stage continues.
    Infiltration reduces the sum of the first stage, then that of the second. `available` is the limit of evaporation
    [mm]. Source: Ritchie (1972), Water Resour. Res. 8, 1204-1213.
    """
    before_1, before_2, before_days = stages
    back = maximum(infiltration - before_1, 0.0)
    sum_1, sum_2 = maximum(before_1 - infiltration, 0.0), maximum(before_2 - back, 0.0)
    days: Value = where(infiltration > 0.0, _days(sum_2, rate_2), before_days)
    potential = minimum(potential, maximum(available, 0.0))
    first = clamp(most_1 - sum_1, 0.0, potential)
    rest = potential - first
    in_second = maximum(rate_2 * sqrt(days + 1.0) - sum_2, 0.0)
    crossing: Value = where(sum_2 > 0.0, minimum(rest, in_second), 0.6 * rest)
    is_second = sum_1 >= most_1
    second: Value = where(is_second, minimum(potential, in_second), crossing)
    after = sum_2 + second
    days = where(is_second, days + 1.0, _days(after, rate_2))
    return first + second, sum_1 + first, after, days


def _days(second: Value, rate: Value) -> Value:
    """Return the number of days in which the second stage reaches this sum."""
    root = ratio(second, rate)
    return root * root


Layer = tuple[Value, Value, Value, Value]
"""Water, thickness, lower limit and drained upper limit [mm]."""

_STEEPEST: Final = 80.0
"""Maximum exponent, which does not overflow in single precision; the diffusivity reaches its limit below it."""


def unsaturated_flow(upper: Layer, lower: Layer, diffusivity: Value, slope: Value) -> Value:
    """Return the upward flow of water from a layer to the layer above it [mm], negative for downward flow.

        D ((th2 - th1) / dz - 2e-5),   D = min(1e4, diffusivity exp(slope (a1 + a2) / 2))

    with the water content th, and the content a above the lower limit. The flow is limited so that it does not reverse
    the gradient. The source remains above its lower limit, and the target below its drained upper limit.
    Source: Jones and Kiniry (1986), CERES-Maize; Probert et al. (1998), Agric. Syst. 56, 1-28.
    """
    (water_1, thick_1, least_1, most_1), (water_2, thick_2, least_2, most_2) = upper, lower
    distance = 0.5 * (thick_1 + thick_2)
    wet_1, wet_2 = ratio(water_1 - least_1, thick_1), ratio(water_2 - least_2, thick_2)
    drop = ratio(water_2, thick_2) - ratio(water_1, thick_1) - 2e-5 * distance
    exponent = 0.5 * slope * (maximum(wet_1, 0.0) + maximum(wet_2, 0.0))
    flow = minimum(1e4, diffusivity * exp(minimum(exponent, _STEEPEST))) * ratio(drop, distance)
    level = drop * ratio(thick_1 * thick_2, thick_1 + thick_2)
    up = minimum(minimum(flow, level), minimum(water_2 - least_2, most_1 - water_1))
    down = minimum(minimum(-flow, -level), minimum(water_1 - least_1, most_2 - water_2))
    return maximum(up, 0.0) - maximum(down, 0.0)


class SoilEvaporation(Process, section="soil_evaporation", order=50):
    """Evaporation from the soil, from the potential evaporation reduced by covers; the formulas are in its file."""

    method = choice("rickert", ("rickert", "ritchie"), "Method of actual evaporation.")
    potential = choice("pan", ("pan", "priestley_taylor"), "Potential evaporation: from the pan, or from radiation.")
    pan = weather("pan_evaporation", "mm")
    radiation = weather("radiation", "MJ m-2")
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    potential_soil_evaporation = flux("mm", "Potential evaporation from the soil", least=0.0)
    soil_evaporation = flux("mm", "Evaporation from the soil", least=0.0)

    @update("potential_soil_evaporation")
    def compute_potential(potential, pan, radiation, warmest, coldest, albedo, green_cover, evaporation_share):
        """Return the potential evaporation from the soil."""
        total = pan if potential == "pan" else priestley_taylor(radiation, warmest, coldest, albedo, green_cover)
        return total * evaporation_share

    @update("water_1", "water_2", "soil_evaporation", "stage_1", "stage_2", "stage_2_days")
    def evaporate(
        method, potential_soil_evaporation, infiltration, water, stage_1, stage_2, stage_2_days, air_dry, lower_limit,
        drained_upper_limit, evaporation_limit, first_stage_evaporation, second_stage_evaporation,
    ):  # fmt: skip
        """Return water, evaporation and stages by the chosen method."""
        if method == "rickert":
            dry = air_dry[0], lower_limit[1]
            first, second = rickert(potential_soil_evaporation, water, dry, drained_upper_limit, evaporation_limit)
            return water[0] - first, water[1] - second, first + second, stage_1, stage_2, stage_2_days
        evaporation, *stages = ritchie(
            potential_soil_evaporation, infiltration, water[0] - air_dry[0], (stage_1, stage_2, stage_2_days),
            first_stage_evaporation, second_stage_evaporation,
        )  # fmt: skip
        return water[0] - evaporation, water[1], evaporation, *stages

    @update("water")
    def redistribute(method, diffusivity, diffusivity_slope, water, thickness, lower_limit, drained_upper_limit):
        """Return water after unsaturated flow between layers, from the top."""
        if method == "rickert":
            return water
        left, soil = list(water), list(zip(thickness, lower_limit, drained_upper_limit, strict=True))
        for upper, lower in pairwise(range(len(left))):
            layers = (left[upper], *soil[upper]), (left[lower], *soil[lower])
            up = unsaturated_flow(*layers, diffusivity, diffusivity_slope)
            left[upper], left[lower] = left[upper] + up, left[lower] - up
        return left


# Transpiration of trees, which take up water first, and of the pasture.


class Trees(Process, section="trees", order=70):
    """Water use of trees: Epan min(1, 0.5 A) min(1, sum s_i), s_i = kl_i f_i (W_i - LL_i) / (DUL_i - LL_i) in 0 to 1.

    A is the basal area of trees. Source: Scanlan and McKeon (1993), in the form of GRASP for APSIM.
    """

    on = switch(True, "Whether trees take up water.")
    use_of_basal_area = number(0.5, "Fraction of pan evaporation that 1 m2/ha of basal area can use.", ge=0.0)
    pan = weather("pan_evaporation", "mm")
    tree_water_index = flux("1", "Supply of water to trees", least=0.0, most=1.0)
    tree_water_use = flux("mm", "Transpiration of trees", least=0.0)
    tree_use = flux("mm", "Water uptake of trees", axis="layer", least=0.0)

    def is_on(self) -> bool:
        """Return True if there are trees."""
        return bool(self.on)

    @update("tree_water_index", "tree_use", "tree_water_use")
    def transpire(
        pan, use_of_basal_area, tree_basal_area, water, tree_limit, tree_uptake, drained_upper_limit
    ):  # fmt: skip
        """Return the water use of trees from the layers, in proportion to their supply."""
        held = maximum(water - tree_limit, 0.0)
        supply = clamp(ratio(held, drained_upper_limit - tree_limit), 0.0, 1.0) * tree_uptake
        total = sum(supply)
        index = minimum(total, 1.0)
        each = pan * minimum(1.0, use_of_basal_area * tree_basal_area) * ratio(index, total)
        used = minimum(each * supply, held)
        return index, used, sum(used)


def _supply(water, least, most, uptake, angle):
    """Return the supply index of each layer."""
    wave = sin(angle * clamp(ratio(water - least, most - least), 0.0, 1.0))
    return minimum(2.0 * uptake * wave * wave, 1.0)


class Transpiration(Process, section="transpiration", order=80):
    """Transpiration Epan ct k SWI from pan evaporation, cover ct, the effect k of hot ground, and soil water.

    The supply of a layer is s = kl (1 - cos(r pi)) with r = (W - LL) / (DUL - LL) in 0 to 1. In the deepest rooted
    layer it is kl f (1 - cos(r pi / 2)); 1 - cos(2 x) is 2 sin(x)^2. The index SWI is the sum, at most 1.
    """

    screen_height = number(200.0, "Minimum height of a sward without heating by the ground [mm] (p095).", gt=0.0)
    ground_factor = number(1.5, "Ratio of the deficits at bare ground and at the screen (p094).", ge=1.0)
    most_of_pan = number(1.3, "Maximum transpiration of trees and pasture relative to pan evaporation.", ge=0.0)
    pan = weather("pan_evaporation", "mm")
    soil_water_index = flux("1", "Soil water index: supply of water to the pasture", least=0.0, most=1.0)
    ground_dryness = flux("1", "Ratio of the deficits in the sward and at the screen", least=0.0)
    transpiration = flux("mm", "Transpiration of the pasture", least=0.0)

    @update("soil_water_index", "ground_dryness", "transpiration", "water")
    def transpire(
        pan, height, transpiration_cover, screen_height, ground_factor, most_of_pan, tree_water_use, tree_use, water,
        root_limit, root_uptake, root_angle, drained_upper_limit,
    ):  # fmt: skip
        """Return the water use of the pasture from the layers: in proportion to supply, and at most their water."""
        supply = _supply(water, root_limit, drained_upper_limit, root_uptake, root_angle)
        total = sum(supply)
        index = minimum(total, 1.0)
        dryness = clamp(1.0 + (ground_factor - 1.0) * (1.0 - height / screen_height), 1.0, ground_factor)
        heated = 1.0 + (dryness - 1.0) * (1.0 - supply[0])
        demand = clamp(pan * transpiration_cover * heated, 0.0, maximum(most_of_pan * pan - tree_water_use, 0.0))
        used = minimum(demand * ratio(index, total) * supply, maximum(water - tree_use - root_limit, 0.0))
        return index, dryness, sum(used), water - tree_use - used
