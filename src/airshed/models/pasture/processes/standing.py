"""What stands in the evening, for output."""

from airshed.formula import minimum
from airshed.models.pasture.forms import ratio
from airshed.process import Process, flux, update


class Standing(Process, section="standing", order=800):
    """Sums of what stands, and how much of what grew was eaten; nothing else reads them."""

    standing_dry_matter = flux("kg ha-1", "Standing dry matter", least=0.0)
    green = flux("kg ha-1", "Green dry matter", least=0.0)
    dead = flux("kg ha-1", "Dead dry matter that stands", least=0.0)
    utilisation = flux("1", "Of what grew since the reset, the share that was eaten", least=0.0, most=1.0)

    @update("green", "dead", "standing_dry_matter")
    def stands(green_leaf, green_stem, dead_leaf, dead_stem):
        """Sums of the pools."""
        green, dead = green_leaf + green_stem, dead_leaf + dead_stem
        return green, dead, green + dead

    @update("utilisation")
    def is_used(eaten_since_reset, grown_since_reset):
        """At most all of it."""
        return minimum(ratio(eaten_since_reset, grown_since_reset), 1.0)
