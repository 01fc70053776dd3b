"""Ammonium nitrate in equilibrium with its gases: NH3 + HNO3 = NH4NO3, for dry particles.

    p(NH3) p(HNO3) = K,   ln K = 84.6 - 24220 / T - 6.1 ln(T / 298 K),   K in ppb2 at 1013.25 hPa

source  Seinfeld & Pandis 2006, Atmospheric Chemistry and Physics, equation 10.91
"""

from airshed.formula import exp, log, maximum, sqrt
from airshed.process import Process, state, update


class AmmoniumNitrate(Process, section="ammonium_nitrate", order=80):
    """Particles of ammonium nitrate, which are advected and mixed."""

    NH4NO3 = state("mol/mol", "Ammonium nitrate in particles.", transported=True, atoms={"N": 2, "H": 4, "O": 3})

    @update("HNO3", "NH3", "NH4NO3")
    def condenses(HNO3, NH3, NH4NO3, temperature, pressure):
        """Return gases and particles in equilibrium."""
        ppb = 1e-9 * 101325.0 / pressure
        product = exp(84.6 - 24220.0 / temperature - 6.1 * log(temperature / 298.0)) * ppb * ppb
        nitric, ammonia = HNO3 + NH4NO3, NH3 + NH4NO3
        excess = nitric - ammonia
        solid = maximum(0.5 * (nitric + ammonia - sqrt(excess * excess + 4.0 * product)), 0.0)
        return nitric - solid, ammonia - solid, solid
