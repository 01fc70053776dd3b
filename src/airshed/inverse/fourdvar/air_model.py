"""The air-quality model for 4D-Var: a run with controls of emission and initial state, and its exact adjoint."""

from collections.abc import Callable, Sequence

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import NumericalError
from airshed.inverse.backward import Adjoints
from airshed.inverse.cost import AdjointForcing, OnFields
from airshed.inverse.fourdvar.control import Controls
from airshed.inverse.function.inputs import EmissionFactors, Inputs
from airshed.inverse.function.repeated import RepeatedRun
from airshed.inverse.gradient import Progress
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation


class InitialControls(Inputs):
    """Controls of the initial state: c = f c_0 for log-normal controls, max(c_0 + d, 0) for gaussian ones, in order."""

    def __init__(self, model: AirModel, controls: Sequence[ControlSection]) -> None:
        self._model, names = model, list(model.network.names)
        self._steps = [(each, names.index(species)) for each in controls for species in each.species]
        self._before: list[Array] = []  # the field before each control is applied, in the last run
        self._start: dict[int, Array] = {}

    def apply(self, values: Controls) -> None:
        """Set the initial state; see :class:`airshed.inverse.function.inputs.Inputs`."""
        if self._steps:
            subdomain = self._model.subdomain
            q = np.array(subdomain.whole(self._model.mixing_ratios()))
            self.change(values, q)
            self._model.begin_with(subdomain.window.of(q))

    def adjoints(self, values: Controls, found: Adjoints) -> dict[str, Array]:
        """Return the adjoints of the controls; see :class:`airshed.inverse.function.inputs.Inputs`."""
        return self.gradient(values, found.initial)

    def change(self, controls: Controls, state: Array) -> None:
        """Change a state [mol/mol] in place."""
        if not self._start:
            self._start = {row: state[row].copy() for _, row in self._steps}
        self._before = []
        for control, row in self._steps:
            self._before.append(state[row].copy())
            values = controls[control.name]
            state[row] = state[row] * values if control.kind == "log-normal" else np.maximum(state[row] + values, 0.0)

    def clipped(self, controls: Controls) -> dict[str, float]:
        """Return the fraction of cells in which the state would be negative, for the controls that have such cells.

        In these cells the state is 0, and the gradient with respect to the control is 0.
        """
        state = {row: field.copy() for row, field in self._start.items()}
        found: dict[str, float] = {}
        for control, row in self._steps if state else ():
            values = controls[control.name]
            changed = state[row] * values if control.kind == "log-normal" else state[row] + values
            share = float(np.mean(changed < 0.0))
            if share:
                found[control.name] = max(share, found.get(control.name, 0.0))
            state[row] = np.maximum(changed, 0.0)
        return found

    def gradient(self, controls: Controls, adjoint: Array) -> dict[str, Array]:
        """Return the gradient by control from that of the changed initial state, (species, level, lat, lon)."""
        bar = adjoint.copy()
        found = {each.name: np.zeros_like(controls[each.name]) for each, _ in self._steps}
        for (control, row), field in reversed(list(zip(self._steps, self._before, strict=True))):
            values = controls[control.name]
            if control.kind == "log-normal":
                own, bar[row] = bar[row] * field, bar[row] * values
            else:
                own = bar[row] = np.where(field + values > 0.0, bar[row], 0.0)
            found[control.name] += own if control.resolution == "cell" else own.sum()
        return found


class AirFieldModel:
    """Field model that runs one simulation repeatedly (:class:`airshed.inverse.fourdvar.cost.FieldModel`).

    times     instants [s] since the start at which fields are output; steps end there
    species   output species, in the order of the fields
    progress  callback for the progress of a run, "forward" or "backward"; an exception stops the run
    raises    CaseError for controls that have no effect

    With several ranks all of them make the same calls. Fields and gradients cover the whole area.
    """

    def __init__(
        self, simulation: Simulation, times: Sequence[float], species: Sequence[str],
        progress: Progress = lambda part, done: None,
    ) -> None:  # fmt: skip
        model: AirModel = simulation.model
        self._shape = (len(times), len(species), *model.whole.shape)
        of: dict[str, list[ControlSection]] = {"emission": [], "initial": []}
        for control in simulation.case.assimilation.control:
            of[control.target].append(control)
        self._initial = InitialControls(model, of["initial"])
        inputs = {"emission": EmissionFactors(model, of["emission"]), "initial": self._initial}
        self._runs = RepeatedRun(simulation, times, species, inputs, progress)

    def run(self, controls: Controls, on_fields: OnFields) -> Callable[[AdjointForcing], Controls]:
        """Run the model; see :class:`airshed.inverse.fourdvar.cost.FieldModel`.

        A second backward pass repeats the forward run. A run that fails returns NaN, so that a line search takes a
        shorter step.
        """
        copies = {name: np.array(each) for name, each in controls.items()}
        values = {"emission": copies, "initial": copies}
        try:
            self._runs.forward(values, on_fields)
        except NumericalError:
            for k in range(self._shape[0]):
                on_fields(k, np.full(self._shape[1:], np.nan))

        def reverse(force: AdjointForcing) -> Controls:
            found = self._runs.reverse(values, force)
            return found["emission"] | found["initial"]

        return reverse

    def clipped(self, controls: Controls) -> dict[str, float]:
        """Return the fraction of cells with a clipped initial state, by control; see :class:`InitialControls`."""
        return self._initial.clipped(controls)

    def close(self) -> None:
        """Discard the checkpoints of the last run."""
        self._runs.close()
