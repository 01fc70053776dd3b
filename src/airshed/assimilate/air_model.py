"""The air-quality model as 4D-Var sees it: a run with controls, and its exact adjoint; see :mod:`seam`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from airshed.adjoint.actions import Action
from airshed.adjoint.backward import Adjoints, Backward
from airshed.adjoint.choice import Stores, make_stores
from airshed.adjoint.cost import Fields
from airshed.adjoint.gradient import Progress, costs_of, run_forward
from airshed.adjoint.options import Options
from airshed.adjoint.snapshots import as_arrays, as_snapshot
from airshed.adjoint.trajectory import Trajectory
from airshed.air.model import AirModel
from airshed.assimilate.factored import Factors, factored
from airshed.assimilate.initial import InitialControls
from airshed.assimilate.seam import Controls, Force, See
from airshed.core.errors import CaseError, NumericalError
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]


class AirFieldModel:
    """Runs one simulation again and again from its beginning; satisfies :class:`airshed.assimilate.seam.FieldModel`.

    times     [s] since the start: the instants of the window at which fields are shown; steps end there
    species   that are shown, in the order of the fields
    progress  is told how far a run is, "forward" or "backward"; what it raises ends the run, and the next one may begin
    raises    CaseError for several ranks, and for controls that act on nothing
    """

    def __init__(
        self, simulation: Simulation, times: Sequence[float], species: Sequence[str],
        progress: Progress = lambda part, done: None,
    ) -> None:  # fmt: skip
        model: AirModel = simulation.model
        if not model.domain.alone:
            raise CaseError("4D-Var runs on one rank; leave --ranks and mpiexec away")
        self._simulation, self._model, self._progress = simulation, model, progress
        self._times, self._species = [float(time) for time in times], tuple(species)
        controls = simulation.case.assimilation.control
        self._factors = Factors(model.parts.start)
        self._sources = factored(model.sources.sources, controls, self._factors)
        self._initial = InitialControls(controls, model.network.names)
        self._beginning = {name: np.array(array) for name, array in as_arrays(model.save()).items()}
        self._run: _Run | None = None

    def run(self, controls: Controls, see: See) -> Callable[[Force], Controls]:
        """See :class:`airshed.assimilate.seam.FieldModel`; a second way back of the same run runs forward once more.

        Of a run that leaves the finite numbers NaN are shown, so that a line search takes a shorter step.
        """
        kept = {name: np.array(values) for name, values in controls.items()}
        try:
            mine: _Run | None = self._forward(kept, see)
        except NumericalError:
            mine = None
            shape = len(self._species), *self._model.grid.shape
            for k in range(len(self._times)):
                see(k, np.full(shape, np.nan))

        def reverse(force: Force) -> Controls:
            run = mine if mine and self._run is mine else self._forward(kept, lambda k, fields: None)
            try:
                return self._back(run, force)
            finally:
                self.close()

        return reverse

    def close(self) -> None:
        """Give up what is kept of a run."""
        if self._run is not None:
            self._run.close()
        self._run = None

    def _forward(self, controls: Controls, see: See) -> "_Run":
        self.close()
        before = self._begin(controls)
        self._run = run = _Run(self._model, controls, before)
        shown = _Shown(self._times, self._species, see)
        try:
            run.actions = list(run_forward(self._simulation, run.trajectory, shown, self._progress))
        except BaseException:
            self.close()
            raise
        return run

    def _begin(self, controls: Controls) -> list[Array]:
        """Take the model back to its beginning, with the factors and the initial state of these controls."""
        model = self._model
        model.restore(as_snapshot({name: array.copy() for name, array in self._beginning.items()}))
        self._factors.controls = controls
        model.sources.replace(self._sources)
        q = np.array(model.mixing_ratios())
        before = self._initial.apply(controls, q)
        if before:
            state = model.stepper.state
            state.q[...] = state.q_other[...] = model.layout.pack(q)
            model.begin_budget()
        return before

    def _back(self, run: "_Run", force: Force) -> Controls:
        costs = costs_of(_Forced(self._times, self._species, force), self._model)
        levels = max((source.levels for source in self._sources), default=1)
        with closing(Backward(self._model, costs, Options(source_levels=levels, read=False))) as backward:
            found = backward.run(run.trajectory, run.actions, lambda done: self._progress("backward", done))
        return self._gradient(run, found)

    def _gradient(self, run: "_Run", adjoints: Adjoints) -> Controls:
        names, into = self._model.network.names, {name: np.zeros_like(each) for name, each in run.controls.items()}
        for begin, adjoint in adjoints.sources.items():
            by_species = dict(zip(names, adjoint, strict=True))
            for source in self._sources:
                source.add_gradient(begin, by_species, into)
        return into | self._initial.gradient(run.controls, run.before, adjoints.initial)


class _Run:
    """A run that can be taken back once.

    before  fields of the initial state as they were before the controls
    """

    def __init__(self, model: AirModel, controls: Controls, before: list[Array]) -> None:
        self.controls, self.before = controls, before
        self._folder = TemporaryDirectory(prefix="airshed-")
        self._stores: Stores = make_stores(model.case.adjoint, Path(self._folder.name))
        self.trajectory = Trajectory(model, self._stores)
        self.actions: list[Action] = []

    def close(self) -> None:
        """Give up its stores."""
        self._stores.close()
        self._folder.cleanup()


@dataclass
class _Shown:
    """Shows fields on the way forward: the see of a seam as a :class:`airshed.adjoint.cost.Cost`."""

    times: Sequence[float]
    species: Sequence[str]
    show: See
    value: float = 0.0

    def see(self, seconds: float, fields: Fields) -> None:
        """See :class:`airshed.adjoint.cost.Cost`."""
        self.show(self.times.index(seconds), np.stack([fields(name) for name in self.species]))

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """Return nothing: it has no way back."""
        return {}


@dataclass
class _Forced:
    """Gives gradients on the way back: the force of a seam as a :class:`airshed.adjoint.cost.Cost`."""

    times: Sequence[float]
    species: Sequence[str]
    force: Force
    value: float = 0.0

    def see(self, seconds: float, fields: Fields) -> None:
        """See nothing: it has no way forward."""

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """See :class:`airshed.adjoint.cost.Cost`."""
        return dict(zip(self.species, self.force(self.times.index(seconds)), strict=True))
