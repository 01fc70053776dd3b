"""Nitrogen of the pasture, from its transpiration and growth since the reset of nitrogen once a year."""

from airshed.formula import minimum, where
from airshed.models.pasture.forms import clamp, ratio
from airshed.process import Process, choice, flux, switch, update, weather


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
