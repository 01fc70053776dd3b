"""Components of models of other packages; the CSDMS tester imports them from here."""

from airshed.bmi import Component


class Lorenz(Component, model="lorenz"):
    """A model without space."""


class Bucket(Component, model="bucket"):
    """A model of points, with a step of a day."""


class Row(Component, model="row"):
    """A model whose cells have coordinates, with layers."""


class Wrong(Bucket):
    """A component that returns another array than the caller's."""

    def get_grid_shape(self, grid, shape):
        return super().get_grid_shape(grid, shape).copy()
