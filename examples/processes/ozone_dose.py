"""Ozone dose over a threshold in daylight: dD/dt = max(O3 - 40 ppb, 0): AOT40 of the UNECE Mapping Manual (2017)."""

from airshed.formula import maximum, where
from airshed.process import Process, quantity, state, update


class OzoneDose(Process, section="ozone_dose", order=90):
    """Ozone dose over a threshold in each cell, without transport."""

    threshold = quantity("40 ppb", "mol/mol", "Mixing ratio above which ozone counts.", settable=True)
    aot40 = state("mol mol-1 h", "Ozone dose over the threshold in daylight.", least=0.0)

    @update("aot40")
    def accumulates(aot40, O3, threshold, cos_zenith, time_step):
        """Return the dose at the end of a step."""
        excess = maximum(O3 - threshold, 0.0)
        return aot40 + where(cos_zenith > 0.0, excess, 0.0) * time_step / 3600.0
