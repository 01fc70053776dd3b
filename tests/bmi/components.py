"""Components of models that another package brings; the tester of CSDMS takes them from here."""

from airshed.bmi import Component


class Lorenz(Component, model="lorenz"):
    """A model without space."""


class Bucket(Component, model="bucket"):
    """A model of points, with a step of a day."""


class Row(Component, model="row"):
    """A model whose cells have places, and layers."""


class Wrong(Bucket):
    """One that gives back another array than the caller's."""

    def get_grid_shape(self, grid, shape):
        return super().get_grid_shape(grid, shape).copy()
