"""Nitrogen of the pasture, from what it transpired and grew since nitrogen was reset."""

from airshed.formula import minimum, where
from airshed.models.pasture.forms import clamp, ratio
from airshed.process import Process, flux, switch, update


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
