"""The protocol between 4D-Var and a model, and the preconditioned cost function with its gradient.

4D-Var requires an :class:`ObservationModel`. A :class:`FieldModel` outputs its fields while it runs.
:class:`SampledFieldModel` combines it with an observation operator. A field model is therefore independent of
observations, and the fields of a window are not stored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import NumericalError
from airshed.inverse.cost import AdjointForcing, OnFields
from airshed.inverse.fourdvar.control import Controls, ControlVector
from airshed.inverse.fourdvar.operator import ObservationOperator
from airshed.observations.observation import Observations

Pullback = Callable[[Array], Controls]
"""Adjoint of a run: weights on simulated observations (p,) -> gradient with respect to each block of controls."""


class ObservationModel(Protocol):
    """Model of 4D-Var: simulated observations, and the adjoint of the run."""

    def value_and_gradient(self, controls: Controls) -> tuple[Array, Pullback]:
        """Return y = H(M(controls)), (p,), in the units of the observations, and w -> (dy/dcontrols)^T w.

        The pullback is valid until the next run begins. It may be called any number of times.
        """
        ...


class FieldModel(Protocol):
    """Model that outputs its fields at chosen instants, with its adjoint from these fields to its controls."""

    def run(self, controls: Controls, on_fields: OnFields) -> Callable[[AdjointForcing], Controls]:
        """Run through the window, call ``on_fields`` at each instant in order, and return the backward pass.

        The backward pass calls ``force`` for the gradient with respect to the fields of each instant, the last first.
        """
        ...


@dataclass(frozen=True)
class SampledFieldModel:
    """Field model with an observation operator, as an :class:`ObservationModel`."""

    model: FieldModel
    operator: ObservationOperator

    def value_and_gradient(self, controls: Controls) -> tuple[Array, Pullback]:
        """Run the model and sample its fields at each instant."""
        simulated = self.operator.start()
        reverse = self.model.run(controls, lambda k, fields: self.operator.add(k, fields, simulated))
        return simulated, lambda weights: reverse(lambda k: self.operator.transposed(k, weights))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Cost and gradient at one control vector v.

    parts      parts of J: background, and each species and kind of observations
    simulated  H(x) (p,), in the units of the observations
    gradient   gradient of J with respect to v (n,)
    """

    cost: float
    parts: Mapping[str, float]
    simulated: Array
    gradient: Array


class Cost:
    """J(v) = v.v / 2 + sum over accepted observations of ((y - H(x)) / sigma_o)^2 / 2,    x = x_b + B^(1/2) v.

        grad J = v - B^(T/2) (dc/dx)^T (dH/dc)^T R^-1 (y - H(x)),    c: factors and increments

    source  Courtier, Thepaut & Hollingsworth 1994, Q. J. R. Meteorol. Soc. 120, 1367-1387; notation of Ide et al. 1997
    """

    def __init__(
        self, model: ObservationModel, control: ControlVector, observations: Observations,
        accepted: npt.NDArray[np.bool_] | None = None,
    ) -> None:  # fmt: skip
        self.model, self.control, self.observations = model, control, observations
        self.accepted = np.ones(len(observations), bool) if accepted is None else accepted
        self._groups = observations.groups()
        self.evaluations = 0

    @property
    def count(self) -> int:
        """Number of assimilated observations."""
        return int(self.accepted.sum())

    def normalised(self, simulated: Array) -> Array:
        """Return R^(-1/2) (H(x) - y) of accepted observations, 0 for rejected ones."""
        return np.where(self.accepted, (simulated - self.observations.value) / self.observations.sigma, 0.0)

    def __call__(self, v: Array) -> Evaluation:
        """Run the model and its adjoint; the cost is infinite if the model returns values that are not finite."""
        simulated, pullback = self.model.value_and_gradient(self.control.controls(v))
        return self.of_run(v, simulated, pullback)

    def of_run(self, v: Array, simulated: Array, pullback: Pullback) -> Evaluation:
        """Return the cost of a completed run of the model, and run its adjoint.

        raises  NumericalError for a gradient that is not finite although the simulation is
        """
        self.evaluations += 1
        if not np.isfinite(simulated).all():
            return Evaluation(np.inf, {}, simulated, np.full_like(v, np.nan))
        residual = self.normalised(simulated)
        parts = {"background": 0.5 * float(v @ v)}
        parts |= {name: 0.5 * float(residual[rows] @ residual[rows]) for name, rows in self._groups.items()}
        gradient = v + self.control.pull(v, pullback(residual / self.observations.sigma))
        if not np.isfinite(gradient).all():
            raise NumericalError("the adjoint returned a gradient that is not finite; 4D-Var cannot continue")
        return Evaluation(sum(parts.values()), parts, simulated, gradient)
