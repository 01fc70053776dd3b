"""Transpiration and growth since nitrogen was reset, once a year."""

from airshed.formula import where
from airshed.process import Process, choice, update, weather


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
