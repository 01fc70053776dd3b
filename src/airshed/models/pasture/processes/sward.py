"""Standing dry matter in a day: height, detachment, death, regrowth, by the pools of the morning; decay of litter."""

from airshed.formula import log, maximum, minimum, where
from airshed.models.pasture.forms import HALF, clamp, ratio
from airshed.process import Process, choice, flux, number, update, weather


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
