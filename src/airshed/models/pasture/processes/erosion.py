"""Loss of soil with runoff."""

from airshed.formula import maximum, where
from airshed.process import Process, flux, switch, update


class Erosion(Process, section="erosion", order=180):
    """Loss of soil in t/ha: 0.1 q LS K P of runoff, q = 16.52 - 0.46 c + 0.0031 c^2 at a cover c below 50 %.

    Above it is 2.54 - 0.0254 c. Source: Freebairn and Wockner (1986), Aust. J. Soil Res. 24, 135-158; Freebairn et al.
    (1989) for the form with factors of slope.
    """

    on = switch(False, "Whether the loss of soil is computed.")
    soil_loss = flux("t ha-1", "Loss of soil", least=0.0)

    def is_on(self) -> bool:
        """Whether the loss of soil is computed."""
        return bool(self.on)

    @update("soil_loss")
    def erodes(runoff, surface_cover, erosion_factor):
        """Of the sediment in runoff, by cover."""
        cover = 100.0 * surface_cover
        sparse = 16.52 - 0.46 * cover + 0.0031 * cover * cover
        sediment = where(cover < 50.0, sparse, maximum(2.54 - 0.0254 * cover, 0.0))
        return 0.1 * sediment * erosion_factor * runoff
