"""Reference: a day of one cell in scalars, written from the published equations and independent of the model."""

from collections.abc import Mapping
from math import exp, log
from typing import Any

from tests.models.pasture.scalar_water import (
    POOLS,
    Numbers,
    between,
    cover,
    curve,
    divided,
    drain,
    drink,
    evaporate,
    runoff,
)


def pressure(temperature: float) -> float:
    return 6.1078 * exp(17.269 * temperature / (237.3 + temperature))


def day(
    cell: Mapping[str, float], start: Mapping[str, float], weather: Mapping[str, float], of: Mapping[str, Any]
) -> Numbers:
    """Return the state at the end of the day, and the fluxes; `of` has the options, as section.name."""
    s, f = dict(start), dict[str, float]()
    burn(s, f, weather, of)
    morning = dict(s)
    deficit = deficit_of(weather, of)
    cover(s, f, cell)
    runoff(s, f, cell, weather, of)
    drain(s, f, cell)
    evaporate(s, f, cell, weather, of)
    nitrogen_index = nitrogen(s, cell, of)
    drink(s, f, cell, weather, of)
    grow(s, f, cell, weather, deficit, nitrogen_index)
    s["height"] = cell["height_per_yield"] * sum(morning[each] for each in POOLS)
    fall_and_die(s, f, cell, weather, of, morning)
    litter(s, f, weather)
    remember(s, f, cell, weather, of)
    if of["grazing.on"]:
        graze(s, f, cell, weather, of)
    return {**s, **f}


def burn(s: Numbers, f: Numbers, weather: Mapping[str, float], of: Mapping[str, Any]) -> None:
    part = weather["burnt_fraction"]
    f["burnt"] = part * sum(s[each] for each in POOLS)
    for each in (*POOLS, *(["litter"] if of["fire.litter_burns"] else [])):
        s[each] *= 1.0 - part


def deficit_of(weather: Mapping[str, float], of: Mapping[str, Any]) -> float:
    warm, cold = pressure(weather["max_temperature"]), pressure(weather["min_temperature"])
    if of["humidity.given"] == "deficit":
        return weather["vapour_pressure_deficit"]
    if of["humidity.given"] == "temperature":
        return warm - cold
    return max(0.0, 0.75 * warm + 0.25 * cold - weather["vapour_pressure"])


def nitrogen(s: Numbers, cell: Mapping[str, float], of: Mapping[str, Any]) -> float:
    uptake = 0.0
    if s["nitrogen_transpiration"] > 0.0:
        uptake = cell["nitrogen_residual"] + cell["nitrogen_per_100mm"] * s["nitrogen_transpiration"] / 100.0
    if of["nitrogen.limited"]:
        uptake = min(uptake, cell["nitrogen_limit"])
    least, most, part = cell["nitrogen_no_growth"], cell["nitrogen_most"], cell["nitrogen_most"]
    if s["nitrogen_growth"] > 0.0:
        part = between(100.0 * uptake / s["nitrogen_growth"], least, most)
    return between(divided(part - least, cell["nitrogen_full_growth"] - least), 0.0, 1.0)


def grow(
    s: Numbers, f: Numbers, cell: Mapping[str, float], weather: Mapping[str, float], deficit: float, nix: float
) -> None:
    mean = 0.5 * (weather["max_temperature"] + weather["min_temperature"])
    if mean <= 14.0 or mean >= 50.0:
        tix = 0.0
    else:
        tix = (mean - 14.0) / 10.0 if mean < 24.0 else 1.0 if mean <= 45.0 else (50.0 - mean) / 5.0
    light, index = weather["radiation"], f["soil_water_index"]
    rix = 1.0 - exp(-light / 8.97)
    efficiency = cell["transpiration_efficiency"] * 20.0 / max(1.0, deficit * f["ground_dryness"])
    by_light = f["light_growth"] = 12.0 * f["radiation_cover"] * light * min(tix, nix)
    from_tussocks = cell["tussock_growth"] * s["basal_area"] * nix * tix * rix * index
    f["growth"] = max(min(f["transpiration"] * efficiency, by_light), from_tussocks)
    if index <= cell["no_growth_water"]:
        f["growth"] = 0.0
    f["leaf_growth"] = f["growth"] * (1.0 if s["green_leaf"] + s["green_stem"] <= 0.0 else 0.5)
    f["growth_index"] = tix * rix * index
    f["nitrogen_index"] = nix


def fall_and_die(
    s: Numbers,
    f: Numbers,
    cell: Mapping[str, float],
    weather: Mapping[str, float],
    of: Mapping[str, Any],
    morning: Numbers,
) -> None:
    index, leaf, stem = f["soil_water_index"], morning["green_leaf"], morning["green_stem"]
    green = leaf + stem
    frost = between((2.0 - weather["min_temperature"]) / 2.0, 0.0, 1.0)
    age = 0.013 * (1.0 - index) + 0.002
    kept = -log(1.0 - min(divided(index, cell["full_green_water"]), 0.99)) * cell["transpiration_yield"] / log(2.0)
    parched = (green - kept) / green if green > kept else 0.0
    dry = cell["dry_start"] <= weather["day_of_year"] <= cell["wet_start"]
    share = cell["dry_detachment"] if dry else cell["wet_detachment"]
    f["death"] = f["detachment"] = 0.0
    for part in ("leaf", "stem"):
        alive = morning[f"green_{part}"]
        of_part = parched * (divided(alive, green) if of["death.drought"] == "published" else 1.0)
        died = min(max(frost, age, of_part), 1.0) * alive
        fell = share * morning[f"dead_{part}"]
        grown = f["leaf_growth"] if part == "leaf" else f["growth"] - f["leaf_growth"]
        s[f"green_{part}"] = alive - died + grown
        s[f"dead_{part}"] = morning[f"dead_{part}"] - fell + died
        f["death"] += died
        f["detachment"] += fell


def litter(s: Numbers, f: Numbers, weather: Mapping[str, float]) -> None:
    since = s["evaporation_since_rain"] + f["potential_soil_evaporation"]
    s["evaporation_since_rain"] = 0.0 if weather["rain"] > 4.0 else since
    mean = max(0.5 * (weather["max_temperature"] + weather["min_temperature"]), 0.0)
    moist, warm = max(0.0, 1.0 - s["evaporation_since_rain"] / 20.0), min(1.0, (mean / 20.0) ** 2)
    f["litter_decay"] = 0.03 * moist * warm * s["litter"]
    s["litter"] += f["detachment"] - f["litter_decay"]
    if "prescribed_litter" in weather:
        f["litter_decay"], s["litter"] = 0.0, weather["prescribed_litter"]


def remember(
    s: Numbers, f: Numbers, cell: Mapping[str, float], weather: Mapping[str, float], of: Mapping[str, Any]
) -> None:
    day = weather["day_of_year"]
    s["nitrogen_transpiration"] += f["transpiration"]
    s["nitrogen_growth"] += f["growth"]
    if day == cell["nitrogen_reset"]:
        coded = of["resets.nitrogen"] == "coded"
        s["nitrogen_transpiration"] = f["transpiration"] if coded else 0.0
        s["nitrogen_growth"] = -f["growth"] if coded else 0.0
    if of["basal_area.varies"]:
        first, last = cell["summer_start"], cell["summer_end"]
        if first <= day <= last if first <= last else day >= first or day <= last:
            s["summer_evapotranspiration"] += f["soil_evaporation"] + f["transpiration"]
        if day == last:
            made = 0.001 * cell["basal_area_efficiency"] * s["summer_evapotranspiration"]
            s["basal_area"] = between(s["last_summer_basal_area"] + made, 0.5, 9.0)
            s["last_summer_basal_area"], s["summer_evapotranspiration"] = made, 0.0
    if of["erosion.on"]:
        c = 100.0 * f["surface_cover"]
        q = 16.52 - 0.46 * c + 0.0031 * c * c if c < 50.0 else 2.54 - 0.0254 * c
        f["soil_loss"] = 0.1 * q * cell["erosion_factor"] * f["runoff"]


GAINS = {12: 70, 1: 70, 2: 70, 3: 25, 4: 25, 5: 25, 6: 10, 7: 10, 8: 10, 9: 25, 10: 25, 11: 25}


def graze(
    s: Numbers, f: Numbers, cell: Mapping[str, float], weather: Mapping[str, float], of: Mapping[str, Any]
) -> None:
    green, dead = s["green_leaf"] + s["green_stem"], s["dead_leaf"] + s["dead_stem"]
    rate = cell["stocking"] + of["grazing.stocking_rate"]
    stock = rate * (s["live_weight"] / 200.0) ** 0.75
    gain = GAINS[int(weather["month"])] / 91.25
    used = min(1.0, divided(s["eaten_since_reset"], s["grown_since_reset"]))
    f["intake"] = between(min((green + dead) / 50.0, 1.05 - 0.3 * used), 0.0, 1.0) * (gain + 1.058) / 0.304
    f["eaten"] = min(green + dead, stock * f["intake"])
    gained = gain if of["grazing.supplement"] else 0.304 * f["intake"] - 1.058
    s["live_weight"] = max(s["live_weight"] + gained, 50.0)
    g = divided(green, green + dead)
    chosen = (g - 0.1) / 0.9
    share = curve(chosen, 19.0) if chosen > 0.0 else g
    from_dead = min(f["eaten"] - min(share * f["eaten"], green), dead)
    bite(s, "green", f["eaten"] - from_dead)
    bite(s, "dead", from_dead)
    f["trampled"] = min(f["eaten"] * (1.0 / 0.75 - 1.0), s["dead_leaf"] + s["dead_stem"])
    bite(s, "dead", f["trampled"])
    if "prescribed_litter" not in weather:
        s["litter"] += f["trampled"]
    s["eaten_since_reset"] += f["eaten"]
    s["grown_since_reset"] += f["growth"]
    if weather["day_of_year"] == 335:
        s["eaten_since_reset"], s["live_weight"] = 0.0, 200.0
        s["grown_since_reset"] = s["green_leaf"] + s["green_stem"]


def bite(s: Numbers, pool: str, amount: float) -> None:
    """Remove leaf and stem, leaf first, and at most the amount of each."""
    leaf, stem = s[f"{pool}_leaf"], s[f"{pool}_stem"]
    from_leaf = min(amount * curve(divided(leaf, leaf + stem), 0.85 / 0.15), leaf)
    from_stem = min(amount - from_leaf, stem)
    from_leaf = min(amount - from_stem, leaf)
    s[f"{pool}_leaf"], s[f"{pool}_stem"] = leaf - from_leaf, stem - from_stem
