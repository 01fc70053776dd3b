"""The air-quality model for 4D-Var: a run with controls of emission and initial state, and its exact adjoint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.core.errors import NumericalError
from airshed.inverse.backward import Adjoints
from airshed.inverse.fourdvar.control import Controls
from airshed.inverse.fourdvar.cost import Force, See
from airshed.inverse.function.inputs import Factors, factored, gradient_by_factors
from airshed.inverse.function.repeated import RepeatedRun, ReversibleRun
from airshed.inverse.gradient import Progress
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]


class InitialControls:
    """c = f c_0 for log-normal controls, max(c_0 + d, 0) for gaussian ones, one after the other.

    names  of the species of the state (species, level, lat, lon)
    """

    def __init__(self, controls: Sequence[ControlSection], names: Sequence[str]) -> None:
        chosen = [each for each in controls if each.of == "initial"]
        self._start: dict[int, Array] = {}
        self._steps = [(each, list(names).index(species)) for each in chosen for species in each.species]

    def apply(self, controls: Controls, state: Array) -> list[Array]:
        """Change a state [mol/mol] in place; return what :meth:`gradient` needs: each field as it was."""
        before = []
        if not self._start:
            self._start = {row: state[row].copy() for _, row in self._steps}
        for control, row in self._steps:
            before.append(state[row].copy())
            values = controls[control.name]
            state[row] = state[row] * values if control.kind == "log-normal" else np.maximum(state[row] + values, 0.0)
        return before

    def clipped(self, controls: Controls) -> dict[str, float]:
        """Return by control the share of cells in which it asks for less than nothing, where that is more than 0.

        There the state is 0, and nothing depends on the control.
        """
        state = {row: field.copy() for row, field in self._start.items()}
        found: dict[str, float] = {}
        for control, row in self._steps if state else ():
            values = controls[control.name]
            wanted = state[row] * values if control.kind == "log-normal" else state[row] + values
            share = float(np.mean(wanted < 0.0))
            if share:
                found[control.name] = max(share, found.get(control.name, 0.0))
            state[row] = np.maximum(wanted, 0.0)
        return found

    def gradient(self, controls: Controls, before: Sequence[Array], adjoint: Array) -> dict[str, Array]:
        """Return the gradient by each control from that by the state, (species, level, lat, lon)."""
        bar = adjoint.copy()
        found = {each.name: np.zeros_like(controls[each.name]) for each, _ in self._steps}
        for (control, row), field in reversed(list(zip(self._steps, before, strict=True))):
            values = controls[control.name]
            if control.kind == "log-normal":
                own, bar[row] = bar[row] * field, bar[row] * values
            else:
                own = bar[row] = np.where(field + values > 0.0, bar[row], 0.0)
            found[control.name] += own if control.per == "cell" else own.sum()
        return found


class AirFieldModel:
    """Field model that repeats one simulation from its start (:class:`airshed.inverse.fourdvar.cost.FieldModel`).

    times     [s] since the start: the instants of the window at which fields are shown; steps end there
    species   that are shown, in the order of the fields
    progress  is told how far a run is, "forward" or "backward"; what it raises ends the run, and the next one may begin
    raises    CaseError for controls that act on nothing

    On several ranks all of them make the same calls, and are shown and return what is of the whole area.
    """

    def __init__(
        self, simulation: Simulation, times: Sequence[float], species: Sequence[str],
        progress: Progress = lambda part, done: None,
    ) -> None:  # fmt: skip
        model: AirModel = simulation.model
        self._model, self._shape = model, (len(times), len(species), *model.whole.shape)
        controls = simulation.case.assimilation.control
        self._factors = Factors(model.parts.start, model.subdomain)
        self._sources = factored(model.sources.sources, controls, self._factors)
        self._initial = InitialControls(controls, model.network.names)
        self._runs = RepeatedRun(simulation, times, species, progress)

    def run(self, controls: Controls, see: See) -> Callable[[Force], Controls]:
        """See :class:`airshed.inverse.fourdvar.cost.FieldModel`; a second backward pass repeats the forward run.

        Of a run that leaves the finite numbers NaN are shown, so that a line search takes a shorter step.
        """
        kept = {name: np.array(values) for name, values in controls.items()}
        first: _Run | None = None
        try:
            first = self._forward(kept, see)
        except NumericalError:
            for k in range(self._shape[0]):
                see(k, np.full(self._shape[1:], np.nan))

        def reverse(force: Force) -> Controls:
            run = first if first and first.kept.is_available else self._forward(kept, lambda k, fields: None)
            levels = max((source.levels for source in self._sources), default=1)
            return self._gradient(run, run.kept.reverse(force, levels, self._runs.progress))

        return reverse

    def clipped(self, controls: Controls) -> dict[str, float]:
        """Return by control the share of cells whose initial state is clipped at 0; see :class:`InitialControls`."""
        return self._initial.clipped(controls)

    def close(self) -> None:
        """Give up what is kept of a run."""
        self._runs.close()

    def _forward(self, controls: Controls, see: See) -> "_Run":
        before: list[Array] = []
        kept = self._runs.forward(lambda: before.extend(self._begin(controls)), see)
        return _Run(controls, before, kept)

    def _begin(self, controls: Controls) -> list[Array]:
        """Give a model at its beginning the factors and the initial state of these controls."""
        model = self._model
        self._factors.controls = controls
        model.sources.replace(self._sources)
        q = np.array(model.subdomain.whole(model.mixing_ratios()))
        before = self._initial.apply(controls, q)
        if before:
            model.begin_with(model.subdomain.window.of(q))
        return before

    def _gradient(self, run: "_Run", adjoints: Adjoints) -> Controls:
        into = {name: np.zeros_like(each) for name, each in run.controls.items()}
        gradient_by_factors(self._sources, self._model.network.names, adjoints.sources, into)
        return into | self._initial.gradient(run.controls, run.before, adjoints.initial)


@dataclass(frozen=True)
class _Run:
    """A run with some controls.

    before  fields of the initial state as they were before the controls
    """

    controls: Controls
    before: list[Array]
    kept: ReversibleRun
