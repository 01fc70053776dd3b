"""The air-quality model as 4D-Var sees it: a run with controls, and its exact adjoint; see :mod:`seam`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.core.errors import NumericalError
from airshed.inverse.backward import Adjoints
from airshed.inverse.factored import Factors, factored, gradient_by_factors
from airshed.inverse.fourdvar.initial import InitialControls
from airshed.inverse.fourdvar.seam import Controls, Force, See
from airshed.inverse.gradient import Progress
from airshed.inverse.repeated import RepeatedRun, ReversibleRun
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]


class AirFieldModel:
    """Field model that repeats one simulation from its start (:class:`airshed.inverse.fourdvar.seam.FieldModel`).

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
        """See :class:`airshed.inverse.fourdvar.seam.FieldModel`; a second backward pass repeats the forward run.

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
