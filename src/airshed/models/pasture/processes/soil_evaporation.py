"""Evaporation from the soil, by Rickert's or by Ritchie's method; with the second one, flow of unsaturated soil."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from airshed.formula import exp, maximum, minimum, sqrt, where
from airshed.models.pasture.forms import Value, clamp, competition, ratio
from airshed.process import Process, choice, flux, update, weather


def priestley_taylor(radiation: Value, warmest: Value, coldest: Value, albedo: Value, green_cover: Value) -> Value:
    """Return potential evaporation [mm] from radiation [MJ m-2], temperatures [degC] and the albedo of bare soil.

        Eeq = 23.8846 R (0.000204 - 0.000183 a) (0.6 Tmax + 0.4 Tmin + 29),  a = 0.23 - (0.23 - albedo) (1 - cg)

    times 1.1, and more above 35 degC; below 5 degC times 0.01 exp(0.18 (Tmax + 20)). Source: Priestley and Taylor
    (1972); Jones and Kiniry (1986), CERES-Maize, for the form and the factors.
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

    each in 0 to 1; r1 Eos evaporates from the first layer, max(r12 - r1, 0) Eos from the second one, together at most
    `most`. Source: Rickert and McKeon (1982), WATSUP, in McKeon et al. (1990).

    dry  AD1, LL2;  limit  DUL1, DUL2
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
    """Return evaporation [mm], and the evaporation of both stages [mm] and the days of the second one after it.

    The first stage goes on at the potential until it amounts to `most_1`; the second one amounts to
    rate_2 sqrt(t) in t days. On the day between them 0.6 of the rest evaporates, unless a second stage goes on.
    Infiltration pays back the first stage, then the second one. `available` limits what evaporates [mm].
    Source: Ritchie (1972), Water Resour. Res. 8, 1204-1213.
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
    """The days in which the second stage amounts to this."""
    root = ratio(second, rate)
    return root * root


Layer = tuple[Value, Value, Value, Value]
"""Water, thickness, lower limit and drained upper limit [mm]."""

_STEEPEST: Final = 80.0
"""An exponent whose power is a number in single precision too; any diffusivity is at its limit long before."""


def unsaturated_flow(upper: Layer, lower: Layer, diffusivity: Value, slope: Value) -> Value:
    """Return how much water flows up from a layer to the one above it [mm], or down where it is negative.

        D ((th2 - th1) / dz - 2e-5),   D = min(1e4, diffusivity exp(slope (a1 + a2) / 2))

    with the water content th, and a that above the lower limit. It ends where the gradient does, where the layer that
    gives is at its lower limit, and where the one that takes is at its drained upper limit.
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
    """Evaporation from the soil, of the potential that covers leave; the formulas are in its file."""

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
        method, potential_soil_evaporation, infiltration, water, stage_1, stage_2, stage_2_days, air_dry, lower_limit,
        drained_upper_limit, evaporation_limit, first_stage_evaporation, second_stage_evaporation,
    ):  # fmt: skip
        """By one method or the other."""
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
    def flows(method, diffusivity, diffusivity_slope, water, thickness, lower_limit, drained_upper_limit):
        """From layer to layer, from the top."""
        if method == "rickert":
            return water
        left, soil = list(water), list(zip(thickness, lower_limit, drained_upper_limit, strict=True))
        for upper, lower in pairwise(range(len(left))):
            layers = (left[upper], *soil[upper]), (left[lower], *soil[lower])
            up = unsaturated_flow(*layers, diffusivity, diffusivity_slope)
            left[upper], left[lower] = left[upper] + up, left[lower] - up
        return left
