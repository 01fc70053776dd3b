"""Dry matter of the sward and litter: growth, death, decay, covers, nitrogen, and fire."""

from airshed.formula import exp, log, maximum, minimum, where
from airshed.models.pasture.forms import HALF, clamp, is_within, ratio
from airshed.process import Process, choice, flux, number, switch, update, weather


class Height(Process, section="height", order=100):
    """Height of the sward from the dry matter of the morning; other processes use it on the next day."""

    @update("height")
    def compute_height(green_leaf, green_stem, dead_leaf, dead_stem, height_per_yield):
        """Return the height from the pools of the morning."""
        return height_per_yield * (green_leaf + green_stem + dead_leaf + dead_stem)


class Detachment(Process, section="detachment", order=110):
    """Detachment of dead matter, with different rates in the dry and the wet season."""

    day = weather("day_of_year", "d")
    detachment = flux("kg ha-1", "Detachment of dead matter", least=0.0)

    @update("detachment", "dead_leaf", "dead_stem")
    def detach(day, dead_leaf, dead_stem, dry_start, wet_start, dry_detachment, wet_detachment):
        """Remove the same fraction of dead leaf and stem."""
        share = where((day >= dry_start) & (day <= wet_start), dry_detachment, wet_detachment)
        return share * (dead_leaf + dead_stem), dead_leaf - share * dead_leaf, dead_stem - share * dead_stem


class Death(Process, section="death", order=120):
    """Death of green matter: the largest fraction due to frost, age and drought, each between 0 and 1.

        frost    (2 - Tmin) / 2           age   0.013 (1 - SWI) + 0.002
        drought  excess above Gmax = -ln(1 - min(SWI / swif, 0.99)) Y50 / ln 2

    In the published form drought kills (GL / G) (G - Gmax) / G of leaf, and the same of stem; strictly it would be
    (G - Gmax) / G of both.
    """

    drought = choice("published", ("published", "strict"), "Form of the fraction of leaf and stem killed by drought.")
    frost_start = number(2.0, "Temperature below which green matter dies [degC] (p125).")
    frost_kill = number(0.0, "Temperature at which all green matter dies [degC] (p011).")
    dry_rate = number(0.013, "Daily death rate without soil water (p051).", ge=0.0, le=1.0)
    least_rate = number(0.002, "Minimum daily death rate (p010).", ge=0.0, le=1.0)
    coldest = weather("min_temperature", "degC")
    death = flux("kg ha-1", "Death of green matter", least=0.0)

    @update("death", "green_leaf", "green_stem", "dead_leaf", "dead_stem")
    def kill(
        drought, frost_start, frost_kill, dry_rate, least_rate, coldest, soil_water_index, full_green_water,
        transpiration_yield, green_leaf, green_stem, dead_leaf, dead_stem,
    ):  # fmt: skip
        """Move dying green matter to dead matter."""
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
    """Allocation of growth to leaf and stem."""

    @update("green_leaf", "green_stem")
    def add_growth(green_leaf, green_stem, growth, leaf_growth):
        """Add growth to the green pools."""
        return green_leaf + leaf_growth, green_stem + (growth - leaf_growth)


class Litter(Process, section="litter", order=140):
    """Daily decay of litter at the rate 0.03 m t: m = max(0, 1 - ES / 20), t = min(1, (T / 20)^2).

    ES is the potential evaporation from the soil since the last day with more than 4 mm of rain, T the mean
    temperature.
    """

    rate = number(0.03, "Daily decay rate in warm and wet conditions.", ge=0.0, le=1.0)
    drying = number(20.0, "Evaporation since rain at which decay stops [mm].", gt=0.0)
    best_temperature = number(20.0, "Minimum mean temperature for the full decay rate [degC].", gt=0.0)
    wetting = number(4.0, "Daily rain that wets litter [mm].", ge=0.0)
    rain = weather("rain", "mm")
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    given = weather("prescribed_litter", "kg ha-1", optional=True)
    litter_decay = flux("kg ha-1", "Decay of litter", least=0.0)

    @update("evaporation_since_rain", "litter_decay", "litter")
    def decay(
        rate, drying, best_temperature, wetting, rain, warmest, coldest, given, potential_soil_evaporation, detachment,
        evaporation_since_rain, litter,
    ):  # fmt: skip
        """Return the litter at the end of the day."""
        since = where(rain > wetting, 0.0, evaporation_since_rain + potential_soil_evaporation)
        if given is not None:
            return since, 0.0, given
        warmth = maximum(0.5 * (warmest + coldest), 0.0) / best_temperature
        decay = rate * maximum(1.0 - since / drying, 0.0) * minimum(warmth * warmth, 1.0) * litter
        return since, decay, litter + detachment - decay


# Covers of the ground, from the dry matter of the previous evening.
_TRACE = 1.0
"""Maximum green dry matter [kg ha-1] without green cover."""


class Cover(Process, section="cover", order=20):
    """Covers: 1 - exp(-ln 2 G / Y) of green matter G for transpiration and light, 1e-4 D of dead matter D.

    They reduce potential evaporation from the soil by the factor exp(-1.7 c) (1 - cl)^0.44, with the cover c of
    standing matter and cl of litter; with cl = 1 - exp(-a L) the power is an exponent. Source: Adams, Arkin and Ritchie
    (1976), Soil Sci. Soc. Am. J. 40, 436-442.
    """

    dead_area = number(1e-4, "Cover per 1 kg/ha of standing dead matter.", ge=0.0)
    litter_area = number(4e-4, "Specific area of litter [ha/kg].", ge=0.0)
    short = number(600.0, "Maximum height of a sward with full protection from rain [mm].", ge=0.0)
    tall = number(1800.0, "Minimum height of a sward without protection from rain [mm].", gt=0.0)
    cover_effect = number(1.7, "Exponent of standing cover in the reduction of soil evaporation.", ge=0.0)
    litter_effect = number(0.44, "Power of bare ground in the reduction of soil evaporation by litter.", ge=0.0)
    transpiration_cover = flux("1", "Cover of green matter for transpiration", least=0.0, most=1.0)
    radiation_cover = flux("1", "Cover of green matter for light", least=0.0, most=1.0)
    green_cover = flux("1", "Ground cover of green matter", least=0.0, most=1.0)
    total_cover = flux("1", "Ground cover of standing matter", least=0.0, most=1.0)
    litter_cover = flux("1", "Ground cover of litter", least=0.0, most=1.0)
    surface_cover = flux("1", "Ground protected from rain", least=0.0, most=1.0)
    evaporation_share = flux("1", "Reduction factor of soil evaporation by covers", least=0.0, most=1.0)

    @update("transpiration_cover", "radiation_cover")
    def compute_green_covers(green_leaf, green_stem, transpiration_yield, radiation_yield):
        """Return the covers 1 - exp(-ln 2 G / Y) for transpiration and light."""
        green = -HALF * (green_leaf + green_stem)
        return 1.0 - exp(green / transpiration_yield), 1.0 - exp(green / radiation_yield)

    @update("green_cover", "total_cover")
    def compute_cover(green_leaf, green_stem, dead_leaf, dead_stem, transpiration_cover, dead_area):
        """Return the green cover, 0 for a trace, and the total cover 1 - (1 - cg) (1 - cd)."""
        green = where(green_leaf + green_stem > _TRACE, transpiration_cover, 0.0)
        dead = minimum(dead_area * (dead_leaf + dead_stem), 1.0)
        return green, 1.0 - (1.0 - green) * (1.0 - dead)

    @update("litter_cover", "surface_cover")
    def compute_surface_cover(total_cover, litter, height, litter_area, short, tall):
        """Return the litter cover 1 - exp(-a L), and the surface cover 1 - (1 - f c) (1 - cl).

        The factor f decreases with height.
        """
        bare = exp(-litter_area * litter)
        sheltering = clamp(ratio(tall - height, tall - short), 0.0, 1.0)
        return 1.0 - bare, 1.0 - (1.0 - sheltering * total_cover) * bare

    @update("evaporation_share")
    def compute_evaporation_share(total_cover, litter, cover_effect, litter_effect, litter_area):
        """Return the reduction factor of evaporation as one exponential."""
        return exp(-cover_effect * total_cover - litter_effect * litter_area * litter)


# Growth from transpiration and light, and from tussocks without leaf; basal area, which may change each summer.


class Growth(Process, section="growth", order=90):
    """Growth max(min(by transpiration, by light), from tussocks); 0 if the soil water index is too low.

        by transpiration  Tr te 20 / max(1, deficit)
        by light          12 cr R min(tix, nix)
        from tussocks     preg BA nix tix rix SWI

    with indices of temperature (tix), nitrogen (nix), light (rix) and soil water (SWI). Source: McKeon et al. (1990).
    """

    coldest_growth = number(14.0, "Minimum mean temperature of growth [degC].")
    first_best = number(24.0, "Minimum mean temperature of full growth [degC].")
    last_best = number(45.0, "Maximum mean temperature of full growth [degC].")
    hottest_growth = number(50.0, "Maximum mean temperature of growth [degC].")
    half_light = number(8.97, "Scale of the radiation index [MJ/m2].", gt=0.0)
    light_use = number(12.0, "Radiation use efficiency [kg/ha per MJ/m2] (p008).", ge=0.0)
    standard_deficit = number(20.0, "Reference deficit of transpiration efficiency [hPa].", gt=0.0)
    leaf_share = number(0.5, "Leaf fraction of growth (p123).", ge=0.0, le=1.0)
    stem_threshold = number(0.0, "Maximum green matter with growth of leaf only [kg/ha] (p124).", ge=0.0)
    radiation = weather("radiation", "MJ m-2")
    warmest = weather("max_temperature", "degC")
    coldest = weather("min_temperature", "degC")
    temperature_index = flux("1", "Temperature index of growth", least=0.0, most=1.0)
    radiation_index = flux("1", "Radiation index of growth", least=0.0, most=1.0)
    growth_index = flux("1", "Growth index of temperature, radiation and soil water", least=0.0, most=1.0)
    light_growth = flux("kg ha-1", "Light-limited growth", least=0.0)
    growth = flux("kg ha-1", "Growth", least=0.0)
    leaf_growth = flux("kg ha-1", "Growth of leaf", least=0.0)

    @update("temperature_index", "radiation_index", "growth_index")
    def compute_indices(
        warmest, coldest, radiation, soil_water_index, coldest_growth, first_best, last_best, hottest_growth, half_light
    ):  # fmt: skip
        """Return the indices of temperature and radiation, and their product with the soil water index."""
        mean = 0.5 * (warmest + coldest)
        rising = ratio(mean - coldest_growth, first_best - coldest_growth)
        falling = ratio(hottest_growth - mean, hottest_growth - last_best)
        warmth = clamp(minimum(rising, falling), 0.0, 1.0)
        light = 1.0 - exp(-radiation / half_light)
        return warmth, light, warmth * light * soil_water_index

    @update("light_growth", "growth", "leaf_growth")
    def compute_growth(
        transpiration, saturation_deficit, ground_dryness, radiation, radiation_cover, temperature_index,
        nitrogen_index, growth_index, soil_water_index, basal_area, green_leaf, green_stem, transpiration_efficiency,
        tussock_growth, no_growth_water, standard_deficit, light_use, leaf_share, stem_threshold,
    ):  # fmt: skip
        """Return the light-limited growth, the growth, and the growth of leaf."""
        deficit = maximum(saturation_deficit * ground_dryness, 1.0)
        by_water = transpiration * transpiration_efficiency * standard_deficit / deficit
        by_light = light_use * radiation_cover * radiation * minimum(temperature_index, nitrogen_index)
        from_tussocks = tussock_growth * basal_area * nitrogen_index * growth_index
        growth = maximum(minimum(by_water, by_light), from_tussocks)
        growth = where(soil_water_index > no_growth_water, growth, 0.0)
        share = where(green_leaf + green_stem > stem_threshold, leaf_share, 1.0)
        return by_light, growth, share * growth


class BasalArea(Process, section="basal_area", order=170):
    """Basal area at the end of summer: 0.001 e ET, added to that of the previous summer.

    ET is evaporation from the soil and transpiration of the pasture in summer, and e the efficiency (p288).
    """

    varies = switch(False, "Whether basal area varies.")
    least = number(0.5, "Minimum basal area [%].", ge=0.0)
    most = number(9.0, "Maximum basal area [%].", gt=0.0)
    day = weather("day_of_year", "d")

    def is_on(self) -> bool:
        """Return True if basal area varies."""
        return bool(self.varies)

    @update("basal_area", "summer_evapotranspiration", "last_summer_basal_area")
    def update_basal_area(
        day, least, most, summer_start, summer_end, basal_area_efficiency, soil_evaporation, transpiration, basal_area,
        summer_evapotranspiration, last_summer_basal_area,
    ):  # fmt: skip
        """Return the water use of the summer, and the basal area at its end."""
        summer = is_within(day, summer_start, summer_end)
        used = summer_evapotranspiration + where(summer, soil_evaporation + transpiration, 0.0)
        ends = day == summer_end
        made = 0.001 * basal_area_efficiency * used
        return (
            where(ends, clamp(last_summer_basal_area + made, least, most), basal_area),
            where(ends, 0.0, used),
            where(ends, made, last_summer_basal_area),
        )


# Nitrogen of the pasture, from transpiration and growth since the annual reset of nitrogen.


class Nitrogen(Process, section="nitrogen", order=60):
    """Nitrogen content of dry matter n = 100 N / AG in %, as a limit of growth; the uptake N is Nres + N100 AT / 100.

    AT and AG are the sums of transpiration and growth since the reset.
    """

    limited = switch(True, "Whether uptake is limited (p099).")
    nitrogen_uptake = flux("kg ha-1", "Nitrogen uptake since the reset", least=0.0)
    nitrogen_index = flux("1", "Nitrogen index of growth", least=0.0, most=1.0)

    @update("nitrogen_uptake", "nitrogen_index")
    def compute_index(
        limited, nitrogen_transpiration, nitrogen_growth, nitrogen_residual, nitrogen_per_100mm, nitrogen_limit,
        nitrogen_no_growth, nitrogen_full_growth, nitrogen_most,
    ):  # fmt: skip
        """Return the uptake, and the index: 0 at the content without growth, 1 at that of full growth."""
        uptake = nitrogen_residual + 0.01 * nitrogen_per_100mm * nitrogen_transpiration
        uptake = where(nitrogen_transpiration > 0.0, uptake, 0.0)
        if limited:
            uptake = minimum(uptake, nitrogen_limit)
        share = clamp(ratio(100.0 * uptake, nitrogen_growth), nitrogen_no_growth, nitrogen_most)
        share = where(nitrogen_growth > 0.0, share, nitrogen_most)
        full = nitrogen_full_growth - nitrogen_no_growth
        return uptake, clamp(ratio(share - nitrogen_no_growth, full), 0.0, 1.0)


class Resets(Process, section="resets", order=150):
    """Sums for nitrogen, reset to 0, or as in APSIM to the transpiration and minus the growth of the day."""

    nitrogen = choice("zero", ("zero", "coded"), "Values of the sums on the day of their reset.")
    day = weather("day_of_year", "d")

    @update("nitrogen_transpiration", "nitrogen_growth")
    def accumulate(
        nitrogen, day, nitrogen_reset, nitrogen_transpiration, nitrogen_growth, transpiration, growth
    ):  # fmt: skip
        """Return the sums, or their values on the day of the reset."""
        to = (transpiration, -growth) if nitrogen == "coded" else (0.0, 0.0)
        is_reset = day == nitrogen_reset
        return (
            where(is_reset, to[0], nitrogen_transpiration + transpiration),
            where(is_reset, to[1], nitrogen_growth + growth),
        )


# Fire at the beginning of the day, which burns standing dry matter and litter.


class Fire(Process, section="fire", order=5):
    """Fire: each pool is multiplied by 1 - f, with the burnt fraction f of the day."""

    fraction = weather("burnt_fraction", "1", optional=True)
    litter_burns = switch(True, "Whether litter burns like standing dry matter.")
    burnt = flux("kg ha-1", "Standing dry matter burnt", least=0.0)

    @update("green_leaf", "green_stem", "dead_leaf", "dead_stem", "litter", "burnt")
    def burn(green_leaf, green_stem, dead_leaf, dead_stem, litter, fraction, litter_burns):
        """Remove the same fraction of all pools."""
        if fraction is None:
            return green_leaf, green_stem, dead_leaf, dead_stem, litter, 0.0
        pools = green_leaf, green_stem, dead_leaf, dead_stem
        left = 1.0 - fraction
        burnt = fraction * (green_leaf + green_stem + dead_leaf + dead_stem)
        return *(left * pool for pool in pools), left * litter if litter_burns else litter, burnt
