"""A loss that follows temperature and light: k exp(-E/T) times clear daylight, in every step."""

from airshed.formula import exp, where
from airshed.process import Process, loss, per_species, quantity


class SunlitLoss(Process, section="sunlit_loss"):
    """Loss in warm and bright air."""

    rates = per_species("1/s", "Rates at infinite temperature and in full light.")
    activation = quantity("1000 K", "K", "Activation energy over the gas constant.")

    @loss(term="lost")
    def lost(rates, activation, temperature, cos_zenith):
        return rates * exp(-activation / temperature) * where(cos_zenith > 0.0, cos_zenith, 0.0)
