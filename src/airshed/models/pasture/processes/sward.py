"""Dry matter of a day: what stands and lies, its death and decay, covers, growth, nitrogen, and fire."""

from airshed.formula import exp, log, maximum, minimum, where
from airshed.models.pasture.forms import HALF, clamp, is_within, ratio
from airshed.process import Process, choice, flux, number, switch, update, weather


class Height(Process, section="height", order=100):
    """Height of the sward, by the dry matter of the morning; it acts on the next day."""

    @update("height")
    def stands(green_leaf, green_stem, dead_leaf, dead_stem, height_per_yield):
        """Where the pools are those of the morning."""
        return height_per_yield * (green_leaf + green_stem + dead_leaf + dead_stem)


class Detachment(Process, section="detachment", order=110):
    """What falls off: a share of dead matter, one in the dry season and one in the wet season."""

    day = weather("day_of_year", "d")
    detachment = flux("kg ha-1", "Dead matter that falls off", least=0.0)

    @update("detachment", "dead_leaf", "dead_stem")
    def falls(day, dead_leaf, dead_stem, dry_start, wet_start, dry_detachment, wet_detachment):
        """Of leaf and stem alike."""
        share = where((day >= dry_start) & (day <= wet_start), dry_detachment, wet_detachment)
        return share * (dead_leaf + dead_stem), dead_leaf - share * dead_leaf, dead_stem - share * dead_stem


class Death(Process, section="death", order=120):
    """What dies: the largest share that frost, age and drought take, each between 0 and 1.

        frost    (2 - Tmin) / 2           age   0.013 (1 - SWI) + 0.002
        drought  what is above Gmax = -ln(1 - min(SWI / swif, 0.99)) Y50 / ln 2

    As published drought takes (GL / G) (G - Gmax) / G of leaf, and of stem alike; strictly (G - Gmax) / G of both.
    """

    drought = choice("published", ("published", "strict"), "Share of leaf and of stem that drought takes.")
    frost_start = number(2.0, "Temperature below which green matter dies [degC] (p125).")
    frost_kill = number(0.0, "Temperature at which all of it dies [degC] (p011).")
    dry_rate = number(0.013, "Share that dies in a day without water in the soil (p051).", ge=0.0, le=1.0)
    least_rate = number(0.002, "Share that dies in any day (p010).", ge=0.0, le=1.0)
    coldest = weather("min_temperature", "degC")
    death = flux("kg ha-1", "Green matter that dies", least=0.0)

    @update("death", "green_leaf", "green_stem", "dead_leaf", "dead_stem")
    def dies(
        drought, frost_start, frost_kill, dry_rate, least_rate, coldest, soil_water_index, full_green_water,
        transpiration_yield, green_leaf, green_stem, dead_leaf, dead_stem,
    ):  # fmt: skip
        """Green matter becomes dead matter."""
        green = green_leaf + green_stem
        frost = clamp(ratio(frost_start - coldest, frost_start - frost_kill), 0.0, 1.0)
        always = maximum(frost, dry_rate * (1.0 - soil_water_index) + least_rate)
        most = -log(1.0 - minimum(ratio(soil_water_index, full_green_water), 0.99)) * transpiration_yield / HALF
        parched = ratio(maximum(green - most, 0.0), green)
        parts = (ratio(green_leaf, green), ratio(green_stem, green)) if drought == "published" else (1.0, 1.0)
        leaf, stem = (minimum(maximum(always, parched * part), 1.0) for part in parts)
        dead, fallen = leaf * green_leaf, stem * green_stem
        return dead + fallen, green_leaf - dead, green_stem - fallen, dead_leaf + dead, dead_stem + fallen


class Regrowth(Process, section="regrowth", order=130):
    """What grew becomes leaf and stem."""

    @update("green_leaf", "green_stem")
    def stands(green_leaf, green_stem, growth, leaf_growth):
        """Where the pools are those of the morning."""
        return green_leaf + leaf_growth, green_stem + (growth - leaf_growth)


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


# Covers of the ground, from what stood and lay the evening before.


_TRACE = 1.0
"""Green dry matter [kg ha-1] up to which there is no green cover."""


class Cover(Process, section="cover", order=20):
    """Covers: 1 - exp(-ln 2 G / Y) of green matter G for transpiration and light, 1e-4 D of dead matter D.

    They leave exp(-1.7 c) (1 - cl)^0.44 of potential evaporation from the soil, c by what stands and cl by litter; with
    cl = 1 - exp(-a L) the power is an exponent. Source: Adams, Arkin and Ritchie (1976), Soil Sci. Soc. Am. J. 40,
    436-442.
    """

    dead_area = number(1e-4, "Cover by dead matter that stands, of 1 kg/ha.", ge=0.0)
    litter_area = number(4e-4, "Specific area of litter [ha/kg].", ge=0.0)
    short = number(600.0, "Height up to which the sward covers the ground from rain [mm].", ge=0.0)
    tall = number(1800.0, "Height from which on it does not [mm].", gt=0.0)
    cover_effect = number(1.7, "What standing cover takes from evaporation of the soil: its exponent.", ge=0.0)
    litter_effect = number(0.44, "What litter takes from it: the power of the ground that it leaves bare.", ge=0.0)
    transpiration_cover = flux("1", "Cover of green matter for transpiration", least=0.0, most=1.0)
    radiation_cover = flux("1", "Cover of green matter for light", least=0.0, most=1.0)
    green_cover = flux("1", "Ground that green matter covers", least=0.0, most=1.0)
    total_cover = flux("1", "Ground that standing matter covers", least=0.0, most=1.0)
    litter_cover = flux("1", "Ground that litter covers", least=0.0, most=1.0)
    surface_cover = flux("1", "Ground that is covered from rain", least=0.0, most=1.0)
    evaporation_share = flux("1", "What covers leave of potential evaporation from the soil", least=0.0, most=1.0)

    @update("transpiration_cover", "radiation_cover")
    def covers_by_green(green_leaf, green_stem, transpiration_yield, radiation_yield):
        """Covers 1 - exp(-ln 2 G / Y) for transpiration and for light."""
        green = -HALF * (green_leaf + green_stem)
        return 1.0 - exp(green / transpiration_yield), 1.0 - exp(green / radiation_yield)

    @update("green_cover", "total_cover")
    def covers(green_leaf, green_stem, dead_leaf, dead_stem, transpiration_cover, dead_area):
        """Green cover, none of a trace, and total cover 1 - (1 - cg) (1 - cd)."""
        green = where(green_leaf + green_stem > _TRACE, transpiration_cover, 0.0)
        dead = minimum(dead_area * (dead_leaf + dead_stem), 1.0)
        return green, 1.0 - (1.0 - green) * (1.0 - dead)

    @update("litter_cover", "surface_cover")
    def covers_from_rain(total_cover, litter, height, litter_area, short, tall):
        """Litter cover 1 - exp(-a L), and surface cover 1 - (1 - f c) (1 - cl), f less of a tall sward."""
        bare = exp(-litter_area * litter)
        sheltering = clamp(ratio(tall - height, tall - short), 0.0, 1.0)
        return 1.0 - bare, 1.0 - (1.0 - sheltering * total_cover) * bare

    @update("evaporation_share")
    def shades(total_cover, litter, cover_effect, litter_effect, litter_area):
        """What covers leave of evaporation, as one exponential."""
        return exp(-cover_effect * total_cover - litter_effect * litter_area * litter)


# Growth, by transpiration and light once there is leaf, from the tussocks before; basal area, which summers change.


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


# Nitrogen of the pasture, from its transpiration and growth since the reset of nitrogen once a year.


class Nitrogen(Process, section="nitrogen", order=60):
    """Nitrogen in dry matter n = 100 N / AG in %, of the uptake N = Nres + N100 AT / 100; its index limits growth."""

    limited = switch(True, "Whether uptake ends at its limit (p099).")
    nitrogen_uptake = flux("kg ha-1", "Nitrogen that was taken up since it was reset", least=0.0)
    nitrogen_index = flux("1", "What nitrogen leaves of growth", least=0.0, most=1.0)

    @update("nitrogen_uptake", "nitrogen_index")
    def limits(
        limited, nitrogen_transpiration, nitrogen_growth, nitrogen_residual, nitrogen_per_100mm, nitrogen_limit,
        nitrogen_no_growth, nitrogen_full_growth, nitrogen_most,
    ):  # fmt: skip
        """0 where nitrogen is as little as where growth ends, 1 from where it is full."""
        uptake = nitrogen_residual + 0.01 * nitrogen_per_100mm * nitrogen_transpiration
        uptake = where(nitrogen_transpiration > 0.0, uptake, 0.0)
        if limited:
            uptake = minimum(uptake, nitrogen_limit)
        share = clamp(ratio(100.0 * uptake, nitrogen_growth), nitrogen_no_growth, nitrogen_most)
        share = where(nitrogen_growth > 0.0, share, nitrogen_most)
        full = nitrogen_full_growth - nitrogen_no_growth
        return uptake, clamp(ratio(share - nitrogen_no_growth, full), 0.0, 1.0)


class Resets(Process, section="resets", order=150):
    """Sums for nitrogen, and their reset: to 0, or as in APSIM to the day's transpiration and minus its growth."""

    nitrogen = choice("zero", ("zero", "coded"), "What sums are on the day of their reset.")
    day = weather("day_of_year", "d")

    @update("nitrogen_transpiration", "nitrogen_growth")
    def adds(
        nitrogen, day, nitrogen_reset, nitrogen_transpiration, nitrogen_growth, transpiration, growth
    ):  # fmt: skip
        """Sums, or what they are reset to."""
        to = (transpiration, -growth) if nitrogen == "coded" else (0.0, 0.0)
        is_reset = day == nitrogen_reset
        return (
            where(is_reset, to[0], nitrogen_transpiration + transpiration),
            where(is_reset, to[1], nitrogen_growth + growth),
        )


# Fire, at the beginning of the day: what it burns of all that stands, and of litter.


class Fire(Process, section="fire", order=5):
    """What burns: each pool is left with (1 - f) of itself, f the burnt fraction of the day."""

    fraction = weather("burnt_fraction", "1", optional=True)
    litter_burns = switch(True, "Whether litter burns as what stands does.")
    burnt = flux("kg ha-1", "Standing dry matter that burns", least=0.0)

    @update("green_leaf", "green_stem", "dead_leaf", "dead_stem", "litter", "burnt")
    def burns(green_leaf, green_stem, dead_leaf, dead_stem, litter, fraction, litter_burns):
        """Of each pool alike."""
        if fraction is None:
            return green_leaf, green_stem, dead_leaf, dead_stem, litter, 0.0
        pools = green_leaf, green_stem, dead_leaf, dead_stem
        left = 1.0 - fraction
        burnt = fraction * (green_leaf + green_stem + dead_leaf + dead_stem)
        return *(left * pool for pool in pools), left * litter if litter_burns else litter, burnt
