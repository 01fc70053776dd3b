"""Drainage from layer to layer: what is above saturation at once, of what is above the drained upper limit a share."""

from airshed.formula import maximum
from airshed.models.pasture.forms import layers
from airshed.process import Process, flux, update


class Drainage(Process, section="drainage", order=40):
    """Of each layer, from the top: out = max(W - SAT, 0) + k max(min(W, SAT) - DUL, 0), W with what came from above."""

    drainage = flux("mm", "Water that leaves the last layer", least=0.0)

    @update(*layers("water"), "drainage")
    def drains(
        water_1, water_2, water_3, water_4, saturation_1, saturation_2, saturation_3, saturation_4,
        drained_upper_limit_1, drained_upper_limit_2, drained_upper_limit_3, drained_upper_limit_4,
        drainage_share_1, drainage_share_2, drainage_share_3, drainage_share_4,
    ):  # fmt: skip
        """From the top to the bottom."""
        left, inflow = [], 0.0
        for water, saturation, limit, share in (
            (water_1, saturation_1, drained_upper_limit_1, drainage_share_1),
            (water_2, saturation_2, drained_upper_limit_2, drainage_share_2),
            (water_3, saturation_3, drained_upper_limit_3, drainage_share_3),
            (water_4, saturation_4, drained_upper_limit_4, drainage_share_4),
        ):
            total = water + inflow
            excess = maximum(total - saturation, 0.0)
            outflow = excess + share * maximum(total - excess - limit, 0.0)
            left.append(total - outflow)
            inflow = outflow
        return *left, inflow
