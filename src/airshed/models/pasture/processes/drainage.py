"""Drainage from layer to layer: what is above saturation at once, of what is above the drained upper limit a share."""

from airshed.formula import maximum
from airshed.process import Process, flux, update


class Drainage(Process, section="drainage", order=40):
    """Of each layer, from the top: out = max(W - SAT, 0) + k max(min(W, SAT) - DUL, 0), W with what came from above."""

    drainage = flux("mm", "Water that leaves the last layer", least=0.0)

    @update("water", "drainage")
    def drains(water, saturation, drained_upper_limit, drainage_share):
        """From the top to the bottom."""
        left, inflow = [], 0.0
        for held, most, limit, share in zip(water, saturation, drained_upper_limit, drainage_share, strict=True):
            total = held + inflow
            excess = maximum(total - most, 0.0)
            outflow = excess + share * maximum(total - excess - limit, 0.0)
            left.append(total - outflow)
            inflow = outflow
        return left, inflow
