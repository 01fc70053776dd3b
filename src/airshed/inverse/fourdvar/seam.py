"""The seam between the assimilation and a model: simulated observations of controls, and the way back.

The assimilation knows a model as :class:`Observed` alone. A model whose fields are sampled while it runs is a
:class:`FieldModel`; :class:`Sampled` makes an Observed of it and of an observation operator, so that a model knows
nothing of observations, and nobody keeps the fields of a window.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Controls = Mapping[str, Array]
"""Factors on emission or on the initial state [1], or increments of the initial state [mol/mol], by block."""

Pullback = Callable[[Array], Controls]
"""Weights on simulated observations (p,) -> their gradient, an array of the shape of each block."""

See = Callable[[int, Array], None]
"""Takes the fields (species, level, lat, lon) [mol/mol] of an instant of the window, by its number."""

Force = Callable[[int], Array]
"""Returns the gradient of a cost by those fields, for the number of an instant."""


class Observed(Protocol):
    """What 4D-Var minimises over: simulated observations and the adjoint of the run that simulated them."""

    def value_and_gradient(self, controls: Controls) -> tuple[Array, Pullback]:
        """Return y = H(M(controls)), (p,), in the units of the observations, and w -> (dy/dcontrols)^T w.

        The pullback belongs to this run: it is called once or more before the next one begins, or never.
        """
        ...


class FieldModel(Protocol):
    """A model that shows its fields at chosen instants, and takes gradients by them back to its controls."""

    def run(self, controls: Controls, see: See) -> Callable[[Force], Controls]:
        """Run through the window, call ``see`` at each instant in turn, and return the reverse run.

        The reverse run asks ``force`` for the gradient by the fields of each instant, the last one first.
        """
        ...


class Sampling(Protocol):
    """An observation operator y = sum over k of H_k c(t_k) + y_0."""

    def start(self) -> Array:
        """Return y_0, the part that no field changes, (p,)."""
        ...

    def add(self, instant: int, fields: Array, into: Array) -> None:
        """Add H_k c(t_k) to simulated observations."""
        ...

    def transposed(self, instant: int, weights: Array) -> Array:
        """Return H_k^T w, of the shape of the fields."""
        ...


@dataclass(frozen=True)
class Sampled:
    """The observations of a model's fields, as :class:`Observed`."""

    model: FieldModel
    operator: Sampling

    def value_and_gradient(self, controls: Controls) -> tuple[Array, Pullback]:
        """Run the model and sample its fields on the way."""
        simulated = self.operator.start()
        reverse = self.model.run(controls, lambda k, fields: self.operator.add(k, fields, simulated))
        return simulated, lambda weights: reverse(lambda k: self.operator.transposed(k, weights))
