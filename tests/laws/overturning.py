"""Overturning: air that moves between the lowest and the highest layer, and species that are produced at all levels."""

import numpy as np

from airshed.process import Process, at_instant, column_matrix, per_species, source


class OverturningFlow(Process, section="overturning"):
    """Exchange of air between the ends of a column, and uniform production."""

    production = per_species("mol/m3/s", "Production at all levels.")

    @at_instant("mol/s", "matrix", by_species=False)
    def brought(self, met, seconds):
        """Air that each layer brings to each other one: a millionth of the lowest layer per second, both ways."""
        grid, levels = self.context.grid, len(met.air_density)
        flux = 1e-5 * met.air_density[0] * grid.thickness[0] * grid.cell_area
        matrix = np.zeros((levels, levels, *flux.shape))
        matrix[0, -1] += flux
        matrix[-1, 0] += flux
        matrix[0, 0] -= flux
        matrix[-1, -1] -= flux
        return matrix

    @column_matrix
    def overturned(brought):
        """Advection of all species."""
        return brought

    @source(unit="mol/m3/s", term="produced")
    def produced(production, light):
        """Production by daylight."""
        return production * light
