"""Covers of the ground, from what stood and lay the evening before."""

from airshed.formula import exp, minimum, where
from airshed.models.pasture.forms import HALF, clamp, ratio
from airshed.process import Process, flux, number, update

_TRACE = 1.0
"""Green dry matter [kg ha-1] up to which there is no green cover."""


class Cover(Process, section="cover", order=20):
    """Covers: 1 - exp(-ln 2 G / Y) of green matter G for transpiration and light, 1e-4 D of dead matter D.

    They leave exp(-1.7 c) (1 - cl)^0.44 of potential evaporation from the soil, c by what stands and cl by litter; with
    cl = 1 - exp(-a L) the power is an exponent. Source: Adams, Arkin and Ritchie (1976), Soil Sci. Soc. Am. J. 40,
    436-442.
    """

    dead_area = number(1e-4, "Cover by dead matter that stands, of 1 kg/ha.", ge=0.0)
    litter_area = number(4e-4, "Specific area of litter [ha/kg].", ge=0.0)
    short = number(600.0, "Height up to which the sward covers the ground from rain [mm].", ge=0.0)
    tall = number(1800.0, "Height from which on it does not [mm].", gt=0.0)
    cover_effect = number(1.7, "What standing cover takes from evaporation of the soil: its exponent.", ge=0.0)
    litter_effect = number(0.44, "What litter takes from it: the power of the ground that it leaves bare.", ge=0.0)
    transpiration_cover = flux("1", "Cover of green matter for transpiration", least=0.0, most=1.0)
    radiation_cover = flux("1", "Cover of green matter for light", least=0.0, most=1.0)
    green_cover = flux("1", "Ground that green matter covers", least=0.0, most=1.0)
    total_cover = flux("1", "Ground that standing matter covers", least=0.0, most=1.0)
    litter_cover = flux("1", "Ground that litter covers", least=0.0, most=1.0)
    surface_cover = flux("1", "Ground that is covered from rain", least=0.0, most=1.0)
    evaporation_share = flux("1", "What covers leave of potential evaporation from the soil", least=0.0, most=1.0)

    @update("transpiration_cover", "radiation_cover")
    def covers_by_green(green_leaf, green_stem, transpiration_yield, radiation_yield):
        """Covers 1 - exp(-ln 2 G / Y) for transpiration and for light."""
        green = -HALF * (green_leaf + green_stem)
        return 1.0 - exp(green / transpiration_yield), 1.0 - exp(green / radiation_yield)

    @update("green_cover", "total_cover")
    def covers(green_leaf, green_stem, dead_leaf, dead_stem, transpiration_cover, dead_area):
        """Green cover, none of a trace, and total cover 1 - (1 - cg) (1 - cd)."""
        green = where(green_leaf + green_stem > _TRACE, transpiration_cover, 0.0)
        dead = minimum(dead_area * (dead_leaf + dead_stem), 1.0)
        return green, 1.0 - (1.0 - green) * (1.0 - dead)

    @update("litter_cover", "surface_cover")
    def covers_from_rain(total_cover, litter, height, litter_area, short, tall):
        """Litter cover 1 - exp(-a L), and surface cover 1 - (1 - f c) (1 - cl), f less of a tall sward."""
        bare = exp(-litter_area * litter)
        sheltering = clamp(ratio(tall - height, tall - short), 0.0, 1.0)
        return 1.0 - bare, 1.0 - (1.0 - sheltering * total_cover) * bare

    @update("evaporation_share")
    def shades(total_cover, litter, cover_effect, litter_effect, litter_area):
        """What covers leave of evaporation, as one exponential."""
        return exp(-cover_effect * total_cover - litter_effect * litter_area * litter)
