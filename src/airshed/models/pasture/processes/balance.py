"""What came and went since the start, in each cell, so that balances of water and dry matter can be closed."""

from airshed.models.pasture.fields import TOTALS
from airshed.process import Process, switch, update, weather


class Balance(Process, section="balance", order=900):
    """Sums since the start of what a day brings and takes."""

    on = switch(True, "Whether sums for the balances are kept.")
    rain = weather("rain", "mm")

    def is_on(self) -> bool:
        """Whether sums are kept."""
        return bool(self.on)

    @update(*(spec.name for spec in TOTALS[:6]))
    def adds_water(
        rain, runoff, soil_evaporation, transpiration, tree_water_use, drainage, rain_total, runoff_total,
        soil_evaporation_total, transpiration_total, tree_water_use_total, drainage_total,
    ):  # fmt: skip
        """Sums of what brings and takes water."""
        return (
            rain_total + rain, runoff_total + runoff, soil_evaporation_total + soil_evaporation,
            transpiration_total + transpiration, tree_water_use_total + tree_water_use, drainage_total + drainage,
        )  # fmt: skip

    @update(*(spec.name for spec in TOTALS[6:]))
    def adds_dry_matter(
        growth, detachment, eaten, trampled, burnt, growth_total, detachment_total, eaten_total, trampled_total,
        burnt_total,
    ):  # fmt: skip
        """Sums of what brings and takes dry matter that stands."""
        return (
            growth_total + growth, detachment_total + detachment, eaten_total + eaten, trampled_total + trampled,
            burnt_total + burnt,
        )  # fmt: skip
