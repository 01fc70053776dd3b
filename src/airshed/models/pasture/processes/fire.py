"""Fire, at the beginning of the day: what it burns of all that stands, and of litter."""

from airshed.process import Process, flux, switch, update, weather


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
