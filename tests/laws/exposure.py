"""A process with updates: a dose of ozone that stays in its cell, and nitric acid that becomes NO2 where it is warm."""

from airshed.formula import exp, maximum
from airshed.process import Process, flux, state, update


class Exposure(Process, section="exposure", order=90):
    """Exposure to ozone."""

    dose = state("mol mol-1 h", "Dose of ozone over 40 ppb.")
    lost = flux("mol mol-1", "Nitric acid that is lost in a step.")

    @update("dose", "HNO3", "NO2", "lost")
    def acts(dose, O3, HNO3, NO2, temperature, cos_zenith, time_step):
        lost = HNO3 * (1.0 - exp(-1e-4 * time_step * temperature / 285.0)) * (1.0 + cos_zenith)
        return dose + maximum(O3 - 40e-9, 0.0) * time_step / 3600.0, HNO3 - lost, NO2 + lost, lost
