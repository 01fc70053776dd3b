"""The protocol between 4D-Var and a model, and the preconditioned cost function with its gradient.

4D-Var uses a model as :class:`Observed` alone. A model whose fields are sampled while it runs is a :class:`FieldModel`.
:class:`Sampled` makes an Observed of it and of an observation operator, so that a model is independent of observations,
and the fields of a window are not stored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import NumericalError
from airshed.inverse.cost import Force, See
from airshed.inverse.fourdvar.control import Controls, ControlVector
from airshed.inverse.fourdvar.operator import Operator
from airshed.observations.observation import Observations

Pullback = Callable[[Array], Controls]
"""Weights on simulated observations (p,) -> their gradient, an array of the shape of each block."""


class Observed(Protocol):
    """Model of 4D-Var: simulated observations, and the adjoint of the run that simulated them."""

    def value_and_gradient(self, controls: Controls) -> tuple[Array, Pullback]:
        """Return y = H(M(controls)), (p,), in the units of the observations, and w -> (dy/dcontrols)^T w.

        The pullback belongs to this run: it is called once or more before the next one begins, or never.
        """
        ...


class FieldModel(Protocol):
    """A model that shows its fields at chosen instants, and takes gradients by them back to its controls."""

    def run(self, controls: Controls, see: See) -> Callable[[Force], Controls]:
        """Run through the window, call ``see`` at each instant in turn, and return the reverse run.

        The reverse run requests from ``force`` the gradient by the fields of each instant, the last one first.
        """
        ...


@dataclass(frozen=True)
class Sampled:
    """The observations of a model's fields, as :class:`Observed`."""

    model: FieldModel
    operator: Operator

    def value_and_gradient(self, controls: Controls) -> tuple[Array, Pullback]:
        """Run the model and sample its fields on the way."""
        simulated = self.operator.start()
        reverse = self.model.run(controls, lambda k, fields: self.operator.add(k, fields, simulated))
        return simulated, lambda weights: reverse(lambda k: self.operator.transposed(k, weights))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The cost at one v, with all that belongs to it.

    parts      J of the background and of each species and kind of observations
    simulated  (p,) H(x), in the units of the observations
    gradient   (n,) of J by v
    """

    cost: float
    parts: Mapping[str, float]
    simulated: Array
    gradient: Array


class Cost:
    """J(v) = v.v / 2 + sum over accepted observations of ((y - H(x)) / sigma_o)^2 / 2,    x = x_b + B^(1/2) v.

        grad J = v - B^(T/2) (dc/dx)^T (dH/dc)^T R^-1 (y - H(x)),    c: what the model gets

    source  Courtier, Thepaut & Hollingsworth 1994, Q. J. R. Meteorol. Soc. 120, 1367-1387; notation of Ide et al. 1997
    """

    def __init__(
        self, model: Observed, control: ControlVector, observations: Observations,
        accepted: npt.NDArray[np.bool_] | None = None,
    ) -> None:  # fmt: skip
        self.model, self.control, self.observations = model, control, observations
        self.accepted = np.ones(len(observations), bool) if accepted is None else accepted
        self._groups = observations.groups()
        self.evaluations = 0

    @property
    def count(self) -> int:
        """The number of observations that are assimilated."""
        return int(self.accepted.sum())

    def normalised(self, simulated: Array) -> Array:
        """Return R^(-1/2) (H(x) - y) of accepted observations, 0 for others."""
        return np.where(self.accepted, (simulated - self.observations.value) / self.observations.sigma, 0.0)

    def __call__(self, v: Array) -> Evaluation:
        """Run the model and its adjoint; where the model leaves the finite numbers the cost is infinite."""
        simulated, pullback = self.model.value_and_gradient(self.control.controls(v))
        return self.of_run(v, simulated, pullback)

    def of_run(self, v: Array, simulated: Array, pullback: Pullback) -> Evaluation:
        """Return the cost of a run of the model that was made; its adjoint runs here.

        raises  NumericalError for a gradient that is not finite though the simulation is
        """
        self.evaluations += 1
        if not np.isfinite(simulated).all():
            return Evaluation(np.inf, {}, simulated, np.full_like(v, np.nan))
        residual = self.normalised(simulated)
        parts = {"background": 0.5 * float(v @ v)}
        parts |= {name: 0.5 * float(residual[rows] @ residual[rows]) for name, rows in self._groups.items()}
        gradient = v + self.control.pull(v, pullback(residual / self.observations.sigma))
        if not np.isfinite(gradient).all():
            raise NumericalError("the adjoint returns a gradient that is not finite; 4D-Var cannot go on from here")
        return Evaluation(sum(parts.values()), parts, simulated, gradient)
