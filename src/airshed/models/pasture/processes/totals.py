"""Sums that no other process reads: totals since the start for balances, and sums of pools for output."""

from airshed.formula import minimum
from airshed.models.pasture.fields import TOTALS
from airshed.models.pasture.forms import ratio
from airshed.process import Process, flux, switch, update, weather


class Balance(Process, section="balance", order=900):
    """Sums of daily gains and losses since the start."""

    on = switch(True, "Whether sums for the balances are computed.")
    rain = weather("rain", "mm")

    def is_on(self) -> bool:
        """Return True if sums are computed."""
        return bool(self.on)

    @update(*(spec.name for spec in TOTALS[:6]))
    def accumulate_water(
        rain, runoff, soil_evaporation, transpiration, tree_water_use, drainage, rain_total, runoff_total,
        soil_evaporation_total, transpiration_total, tree_water_use_total, drainage_total,
    ):  # fmt: skip
        """Return the sums of gains and losses of water."""
        return (
            rain_total + rain, runoff_total + runoff, soil_evaporation_total + soil_evaporation,
            transpiration_total + transpiration, tree_water_use_total + tree_water_use, drainage_total + drainage,
        )  # fmt: skip

    @update(*(spec.name for spec in TOTALS[6:]))
    def accumulate_dry_matter(
        growth, detachment, eaten, trampled, burnt, growth_total, detachment_total, eaten_total, trampled_total,
        burnt_total,
    ):  # fmt: skip
        """Return the sums of gains and losses of standing dry matter."""
        return (
            growth_total + growth, detachment_total + detachment, eaten_total + eaten, trampled_total + trampled,
            burnt_total + burnt,
        )  # fmt: skip


class StandingMatter(Process, section="standing", order=800):
    """Sums of standing dry matter, and utilisation, for output."""

    standing_dry_matter = flux("kg ha-1", "Standing dry matter", least=0.0)
    green = flux("kg ha-1", "Green dry matter", least=0.0)
    dead = flux("kg ha-1", "Standing dead dry matter", least=0.0)
    utilisation = flux("1", "Eaten fraction of the growth since the reset", least=0.0, most=1.0)

    @update("green", "dead", "standing_dry_matter")
    def sum_pools(green_leaf, green_stem, dead_leaf, dead_stem):
        """Return the sums of the pools."""
        green, dead = green_leaf + green_stem, dead_leaf + dead_stem
        return green, dead, green + dead

    @update("utilisation")
    def compute_utilisation(eaten_since_reset, grown_since_reset):
        """Return the utilisation, at most 1."""
        return minimum(ratio(eaten_since_reset, grown_since_reset), 1.0)
