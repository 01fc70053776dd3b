"""What stands at the end of the day, in sums of its pools."""

from airshed.process import Process, flux, update


class Standing(Process, section="standing", order=190):
    """Green is leaf and stem that live, dead is leaf and stem that do not, and standing dry matter is both."""

    green = flux("kg ha-1", "Green dry matter")
    dead = flux("kg ha-1", "Dead dry matter that stands")
    standing_dry_matter = flux("kg ha-1", "Standing dry matter")

    @update("green", "dead", "standing_dry_matter")
    def adds(green_leaf, green_stem, dead_leaf, dead_stem):
        """Return the sums."""
        green, dead = green_leaf + green_stem, dead_leaf + dead_stem
        return green, dead, green + dead
