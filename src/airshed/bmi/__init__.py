"""Models as components of the Basic Model Interface 2.0 of CSDMS, for frameworks that couple models in one process.

    air = airshed.bmi.Air()
    air.initialize("cases/west-europe")
    air.update_until(3600.0)
    ozone = air.get_value("O3", np.empty(air.get_grid_size(air.get_var_grid("O3"))))
    air.finalize()

Models of other packages become components by `class Lorenz(Component, model="lorenz")`. The interface needs bmipy:
`pip install "airshed[bmi]"`. See docs/how-to/bmi.md.
"""

from airshed.bmi.component import Component

__all__ = ["Air", "Component", "Pasture"]


class Air(Component, model="air"):
    """Air, from cases of the air-quality model."""


class Pasture(Component, model="pasture"):
    """Soil water and pasture, from cases of the pasture model."""
