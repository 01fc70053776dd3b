"""Reference: water of a day of one cell in scalars, from the published equations and independent of the model."""

from collections.abc import Mapping
from math import cos, exp, log, pi, sin, sqrt
from typing import Any

Numbers = dict[str, float]
LAYERS = (1, 2, 3, 4)
POOLS = ("green_leaf", "green_stem", "dead_leaf", "dead_stem")


def divided(part: float, whole: float) -> float:
    """Return part / whole: 0 for 0 / 0, and a large number for another part of 0."""
    if whole > 0.0:
        return part / whole
    return 0.0 if part == 0.0 else part * 1e9


def between(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)


def curve(x: float, a: float) -> float:
    return a * x / (1.0 + (a - 1.0) * x)


def cover(s: Numbers, f: Numbers, cell: Mapping[str, float]) -> None:
    green, dead = s["green_leaf"] + s["green_stem"], s["dead_leaf"] + s["dead_stem"]
    f["transpiration_cover"] = 1.0 - exp(-log(2.0) * green / cell["transpiration_yield"])
    f["radiation_cover"] = 1.0 - exp(-log(2.0) * green / cell["radiation_yield"])
    f["green_cover"] = f["transpiration_cover"] if green > 1.0 else 0.0
    f["total_cover"] = 1.0 - (1.0 - f["green_cover"]) * (1.0 - between(1e-4 * dead, 0.0, 1.0))
    f["litter_cover"] = 1.0 - exp(-0.0004 * s["litter"])
    height = s["height"]
    sheltered = 1.0 if height <= 600.0 else 0.0 if height >= 1800.0 else (1800.0 - height) / 1200.0
    f["surface_cover"] = 1.0 - (1.0 - sheltered * f["total_cover"]) * (1.0 - f["litter_cover"])


def runoff(
    s: Numbers, f: Numbers, cell: Mapping[str, float], weather: Mapping[str, float], of: Mapping[str, Any]
) -> None:
    covered = f["surface_cover"]
    if of["runoff.cover"] == "yield":
        standing, power = sum(s[each] for each in POOLS), cell["runoff_power"]
        covered = standing**power / (standing**power + cell["runoff_yield"] ** power)
    thick = [cell[f"thickness_{n}"] for n in LAYERS]
    depth, wetness, above = min(cell["runoff_depth"], sum(thick)), 0.0, 0.0
    for n in LAYERS:
        below = min(above + thick[n - 1], depth)
        weight = (exp(-4.16 * above / depth) - exp(-4.16 * below / depth)) / (1.0 - exp(-4.16))
        least, most = cell[f"lower_limit_{n}"], cell[f"drained_upper_limit_{n}"]
        wetness += weight * divided(s[f"water_{n}"] - least, most - least)
        above = below
    wetness = between(wetness, 0.0, 1.0)
    share = between(divided(covered, cell["curve_number_cover"]), 0.0, 1.0)
    medium = between(cell["curve_number"] - cell["curve_number_reduction"] * share, 0.0, 100.0)
    dry, wet = medium / (2.334 - 0.01334 * medium), medium / (0.4036 + 0.005964 * medium)
    number, rain = dry + (wet - dry) * wetness, weather["rain"]
    f["runoff"] = 0.0
    if number > 0.0:
        retention = 254.0 * (100.0 / number - 1.0)
        f["runoff"] = divided(max(rain - 0.2 * retention, 0.0) ** 2, rain + 0.8 * retention)
    f["infiltration"] = rain - f["runoff"]
    s["water_1"] += f["infiltration"]


def drain(s: Numbers, f: Numbers, cell: Mapping[str, float]) -> None:
    inflow = 0.0
    for n in LAYERS:
        total = s[f"water_{n}"] + inflow
        excess = max(total - cell[f"saturation_{n}"], 0.0)
        inflow = excess + cell[f"drainage_share_{n}"] * max(total - excess - cell[f"drained_upper_limit_{n}"], 0.0)
        s[f"water_{n}"] = total - inflow
    f["drainage"] = inflow


def evaporate(
    s: Numbers, f: Numbers, cell: Mapping[str, float], weather: Mapping[str, float], of: Mapping[str, Any]
) -> None:
    potential = weather["pan_evaporation"]
    if of["soil_evaporation.potential"] == "priestley_taylor":
        warm, albedo = weather["max_temperature"], 0.23 - (0.23 - cell["albedo"]) * (1.0 - f["green_cover"])
        mean = 0.6 * warm + 0.4 * weather["min_temperature"] + 29.0
        factor = 0.01 * exp(0.18 * (warm + 20.0)) if warm < 5.0 else 1.1 + 0.05 * max(warm - 35.0, 0.0)
        potential = max(23.8846 * weather["radiation"] * (0.000204 - 0.000183 * albedo) * mean * factor, 0.0)
    potential *= exp(-1.7 * f["total_cover"]) * (1.0 - f["litter_cover"]) ** 0.44
    f["potential_soil_evaporation"] = potential
    if of["soil_evaporation.method"] == "rickert":
        by_rickert(s, f, cell, potential)
    else:
        by_ritchie(s, f, cell, potential)
        flow(s, cell)


def by_rickert(s: Numbers, f: Numbers, cell: Mapping[str, float], potential: float) -> None:
    dry, least = cell["air_dry_1"], cell["lower_limit_2"]
    held = s["water_1"] - dry
    x = between(divided(held, cell["drained_upper_limit_1"] - dry), 0.0, 1.0)
    most = cell["drained_upper_limit_1"] + cell["drained_upper_limit_2"] - dry - least
    x_both = between(divided(held + s["water_2"] - least, most), 0.0, 1.0)
    share, both, limit = curve(x, 0.285), curve(x_both, 0.117), cell["evaporation_limit"]
    first = between(share * potential, 0.0, min(limit, max(held, 0.0)))
    second = 0.0
    if both > share and s["water_2"] > least:
        second = between((both - share) * potential, 0.0, min(limit - first, s["water_2"] - least))
    s["water_1"] -= first
    s["water_2"] -= second
    f["soil_evaporation"] = first + second


def by_ritchie(s: Numbers, f: Numbers, cell: Mapping[str, float], potential: float) -> None:
    most, rate, came = cell["first_stage_evaporation"], cell["second_stage_evaporation"], f["infiltration"]
    if came > 0.0:
        of_first = min(came, s["stage_1"])
        s["stage_1"] -= of_first
        s["stage_2"] = max(s["stage_2"] - (came - of_first), 0.0)
        s["stage_2_days"] = divided(s["stage_2"], rate) ** 2
    potential = min(potential, max(s["water_1"] - cell["air_dry_1"], 0.0))
    next_day = max(rate * sqrt(s["stage_2_days"] + 1.0) - s["stage_2"], 0.0)
    if s["stage_1"] >= most:
        first, second = 0.0, min(potential, next_day)
        s["stage_2"] += second
        s["stage_2_days"] += 1.0
    else:
        first = min(potential, most - s["stage_1"])
        rest = potential - first
        second = min(rest, next_day) if s["stage_2"] > 0.0 else 0.6 * rest
        s["stage_2"] += second
        s["stage_2_days"] = divided(s["stage_2"], rate) ** 2
    s["stage_1"] += first
    s["water_1"] -= first + second
    f["soil_evaporation"] = first + second


def flow(s: Numbers, cell: Mapping[str, float]) -> None:
    for n in (1, 2, 3):
        thick, below = cell[f"thickness_{n}"], cell[f"thickness_{n + 1}"]
        if thick <= 0.0 or below <= 0.0:
            continue
        one, other = s[f"water_{n}"], s[f"water_{n + 1}"]
        least, least_below = cell[f"lower_limit_{n}"], cell[f"lower_limit_{n + 1}"]
        apart = 0.5 * (thick + below)
        moist = 0.5 * (max(one - least, 0.0) / thick + max(other - least_below, 0.0) / below)
        exponent = min(cell["diffusivity_slope"] * moist, 80.0)
        speed = min(1e4, cell["diffusivity"] * exp(exponent))
        amount = speed * ((other / below - one / thick) / apart - 2e-5)
        # A larger flow would reverse the gradient.
        level = (other / below - one / thick - 2e-5 * apart) / (1.0 / thick + 1.0 / below)
        if amount > 0.0:
            amount = max(min(amount, level, other - least_below, cell[f"drained_upper_limit_{n}"] - one), 0.0)
        else:
            room = cell[f"drained_upper_limit_{n + 1}"] - other
            amount = -max(min(-amount, -level, one - least, room), 0.0)
        s[f"water_{n}"] += amount
        s[f"water_{n + 1}"] -= amount


def drink(
    s: Numbers, f: Numbers, cell: Mapping[str, float], weather: Mapping[str, float], of: Mapping[str, Any]
) -> None:
    pan, water = weather["pan_evaporation"], {n: s[f"water_{n}"] for n in LAYERS}
    trees = dict.fromkeys(LAYERS, 0.0)
    if of["trees.on"]:
        supply = {}
        for n in LAYERS:
            least, most = cell[f"tree_limit_{n}"], cell[f"drained_upper_limit_{n}"]
            supply[n] = between(divided(water[n] - least, most - least), 0.0, 1.0) * cell[f"tree_uptake_{n}"]
        total = sum(supply.values())
        demand = pan * min(1.0, 0.5 * cell["tree_basal_area"]) * min(1.0, total)
        for n in LAYERS:
            wanted = demand * divided(supply[n], total)
            trees[n] = min(wanted, max(water[n] - cell[f"tree_limit_{n}"], 0.0))
    f["tree_water_use"] = sum(trees.values())
    supply = roots(cell, water)
    total = sum(supply.values())
    f["soil_water_index"] = min(1.0, total)
    f["ground_dryness"] = between(1.0 + 0.5 * (1.0 - s["height"] / 200.0), 1.0, 1.5)
    k = 1.0 + (f["ground_dryness"] - 1.0) * (1.0 - supply[1])
    demand = between(pan * f["transpiration_cover"] * k, 0.0, max(1.3 * pan - f["tree_water_use"], 0.0))
    f["transpiration"] = 0.0
    for n in LAYERS:
        wanted = demand * f["soil_water_index"] * divided(supply[n], total)
        used = min(wanted, max(water[n] - trees[n] - cell[f"root_limit_{n}"], 0.0))
        f["transpiration"] += used
        s[f"water_{n}"] -= trees[n] + used


def roots(cell: Mapping[str, float], water: Mapping[int, float]) -> dict[int, float]:
    """Return the supply of each layer; `rooted` is the fraction of a layer with roots."""
    rooted = {n: cell[f"rooted_{n}"] for n in LAYERS}
    deepest = max((n for n in LAYERS if rooted[n] > 0.0), default=0)
    supply = {}
    for n in LAYERS:
        least, most, kl = cell[f"root_limit_{n}"], cell[f"drained_upper_limit_{n}"], cell[f"kl_{n}"]
        r = between(divided(water[n] - least, most - least), 0.0, 1.0)
        if n == deepest:
            supply[n] = (1.0 - cos(r * pi / 2.0)) * kl * rooted[n]
        else:
            supply[n] = between((1.0 + sin((r - 0.5) * pi)) * kl, 0.0, 1.0) if rooted[n] > 0.0 else 0.0
    return supply
