"""Grazing: intake of leaf and stem, trampling, and live-weight gain."""

from airshed.core.settings import Switch
from airshed.formula import maximum, minimum, where
from airshed.models.pasture.forms import clamp, competition, ratio
from airshed.process import Process, flux, number, setting, switch, update, weather

_GAINS = ((11, 70.0), (8, 25.0), (5, 10.0), (2, 25.0))
"""Last month before a season, and its potential gain [kg]; seasons start in December, September, June and March."""

_QUARTER = 91.25


def _seasonal_gain(month):
    """Return the potential gain in the season of a month [kg]."""
    gain = 70.0
    for last, of_season in reversed(_GAINS):
        gain = where(month > last, of_season, gain)
    return gain


def _remove(amount, leaf, stem, advantage):
    """Return leaf and stem after the removal of an amount from both, with a preference for leaf."""
    of_leaf = minimum(amount * competition(ratio(leaf, leaf + stem), advantage), leaf)
    of_stem = minimum(amount - of_leaf, stem)
    return maximum(leaf - (amount - of_stem), 0.0), maximum(stem - of_stem, 0.0)


class Grazing(Process, section="grazing", order=160):
    """Intake per head (gain + 1.058) / 0.304, restricted by standing dry matter T and utilisation u.

    The restriction is min(T / 50, 1.05 - 0.3 u), stock equivalents are SR (W / 200)^0.75, and the gain of an animal is
    0.304 intake - 1.058. Source: McKeon and Rickert (1984), Hendricksen et al. (1982), in GRAZ of APSIM; here removal
    from a pool is limited to its content.
    """

    on = setting(Switch | None, None, "Whether animals graze; by default if the stocking rate is above 0.")
    supplement = switch(False, "Whether animals are fed to reach their potential gain.")
    stocking_rate = number(0.0, "Stocking rate of all cells, added to that of each cell.", settable=True, ge=0.0)
    leaf_choice = number(0.85, "Preference for leaf: fraction of leaf in the diet from equal parts.", ge=0.5, lt=1.0)
    green_choice = number(19.0, "Preference for green over dead matter.", gt=0.0)
    least_green = number(0.1, "Maximum fraction of green matter without preference.", ge=0.0, lt=1.0)
    eaten_share = number(0.75, "Eaten fraction of the removed dry matter.", gt=0.0, le=1.0)
    reset_day = number(335.0, "Day of the year on which utilisation is reset.", ge=1.0, le=366.0)
    new_weight = number(200.0, "Live weight of a new herd on this day [kg]; 0 for no new herd.", ge=0.0)
    least_weight = number(50.0, "Minimum live weight of an animal [kg].", gt=0.0)
    day = weather("day_of_year", "d")
    given_litter = weather("prescribed_litter", "kg ha-1", optional=True)
    month = weather("month", "1")
    intake = flux("kg", "Intake of dry matter per animal", least=0.0)
    eaten = flux("kg ha-1", "Dry matter eaten", least=0.0)
    trampled = flux("kg ha-1", "Dead matter trampled", least=0.0)
    live_weight_gain = flux("kg", "Live-weight gain of an animal")

    def is_on(self) -> bool:
        """Return True if animals graze."""
        return bool(self.stocking_rate > 0.0 if self.on is None else self.on)

    @update("intake", "eaten", "live_weight_gain", "live_weight")
    def compute_intake(
        month, stocking, stocking_rate, supplement, least_weight, live_weight, eaten_since_reset, grown_since_reset,
        green_leaf, green_stem, dead_leaf, dead_stem,
    ):  # fmt: skip
        """Return intake and gain of an animal, and the dry matter eaten by all animals."""
        standing = green_leaf + green_stem + dead_leaf + dead_stem
        weight = maximum(live_weight, least_weight)
        equivalents = (stocking + stocking_rate) * (weight / 200.0) ** 0.75
        could_gain = _seasonal_gain(month) / _QUARTER
        used = minimum(ratio(eaten_since_reset, grown_since_reset), 1.0)
        intake = clamp(minimum(standing / 50.0, 1.05 - 0.3 * used), 0.0, 1.0) * (could_gain + 1.058) / 0.304
        gain = could_gain if supplement else 0.304 * intake - 1.058
        weight = maximum(weight + gain, least_weight)
        return intake, minimum(standing, equivalents * intake), weight - live_weight, weight

    @update("trampled", "green_leaf", "green_stem", "dead_leaf", "dead_stem", "litter")
    def remove_dry_matter(
        eaten, leaf_choice, green_choice, least_green, eaten_share, given_litter, green_leaf, green_stem, dead_leaf,
        dead_stem, litter,
    ):  # fmt: skip
        """Remove eaten dry matter, with preference for green and leaf, and trampled dead matter."""
        green, dead = green_leaf + green_stem, dead_leaf + dead_stem
        share = ratio(green, green + dead)
        preferred = maximum((share - least_green) / (1.0 - least_green), 0.0)
        share = where(preferred > 0.0, competition(preferred, green_choice), share)
        of_dead = minimum(eaten - minimum(share * eaten, green), dead)
        advantage = leaf_choice / (1.0 - leaf_choice)
        green_leaf, green_stem = _remove(eaten - of_dead, green_leaf, green_stem, advantage)
        dead_leaf, dead_stem = _remove(of_dead, dead_leaf, dead_stem, advantage)
        trampled = minimum(eaten * (1.0 / eaten_share - 1.0), dead_leaf + dead_stem)
        dead_leaf, dead_stem = _remove(trampled, dead_leaf, dead_stem, advantage)
        litter = litter + trampled if given_litter is None else litter
        return trampled, green_leaf, green_stem, dead_leaf, dead_stem, litter

    @update("eaten_since_reset", "grown_since_reset")
    def accumulate(day, reset_day, eaten, growth, eaten_since_reset, grown_since_reset, green_leaf, green_stem):
        """Return the sums of eaten dry matter and growth."""
        is_reset = day == reset_day
        return (
            where(is_reset, 0.0, eaten_since_reset + eaten),
            where(is_reset, green_leaf + green_stem, grown_since_reset + growth),
        )

    @update("live_weight")
    def replace_herd(day, reset_day, new_weight, live_weight):
        """Return the live weight of a new herd on the reset day."""
        return where((day == reset_day) & (new_weight > 0.0), new_weight, live_weight)
