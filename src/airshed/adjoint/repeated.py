"""One simulation that runs again and again from its beginning, each time with other inputs, and is taken back."""

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
from airshed.adjoint.trajectory import Trajectory, as_arrays, as_snapshot
from airshed.air.model import AirModel
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]

See = Callable[[int, Array], None]
"""Takes the fields (species, level, lat, lon) [mol/mol] of a time, by its number."""

Force = Callable[[int], Array]
"""Returns the gradient of a cost by those fields, for the number of a time."""


class RepeatedRun:
    """Runs a simulation that has not begun, as often as is asked for.

    times     [s] since the start of the case, rising: fields are shown there, and steps end there
    species   that are shown, in the order of the fields
    progress  is told how far a run is, "forward" or "backward"; what it raises ends the run, and the next one may begin
    """

    def __init__(
        self, simulation: Simulation, times: Sequence[float], species: Sequence[str], progress: Progress
    ) -> None:
        self._simulation, self._model, self.progress = simulation, simulation.model, progress
        self._times, self._species = [float(time) for time in times], tuple(species)
        self._beginning = {name: np.array(array) for name, array in as_arrays(self._model.save()).items()}
        self._kept: KeptRun | None = None

    def forward(self, change: Callable[[], None], see: See) -> "KeptRun":
        """Run from the beginning with what ``change`` changes there; return the run, kept until the next one begins."""
        self.close()
        self._model.restore(as_snapshot({name: array.copy() for name, array in self._beginning.items()}))
        change()
        self._kept = kept = KeptRun(self._model, self._times, self._species)
        try:
            shown = _Shown(self._times, self._species, see)
            kept.actions = list(run_forward(self._simulation, kept.trajectory, shown, self.progress))
        except BaseException:
            self.close()
            raise
        return kept

    def close(self) -> None:
        """Give up what is kept of a run."""
        if self._kept is not None:
            self._kept.close()
        self._kept = None


class KeptRun:
    """A run that can be taken back once: afterwards, and when another run begins, it is no longer there."""

    def __init__(self, model: AirModel, times: Sequence[float], species: Sequence[str]) -> None:
        self._model, self._times, self._species = model, times, species
        self._folder = TemporaryDirectory(prefix="airshed-", ignore_cleanup_errors=True)
        self._stores: Stores = make_stores(model.case.adjoint, Path(self._folder.name), model.subdomain.ranks)
        self.trajectory = Trajectory(model, self._stores)
        self.actions: list[Action] = []
        self.there = True

    def back(self, force: Force, source_levels: int, progress: Progress, *, reactions: bool = False) -> Adjoints:
        """Take the run back, and give it up.

        force          is asked for the gradient at each time, the last one first
        source_levels  lowest levels into which sources are asked for
        reactions      whether factors on the rates of reactions are
        """
        costs = costs_of(_Forced(self._times, self._species, force), self._model)
        options = Options(source_levels=source_levels, read=False, reactions=reactions)
        try:
            with closing(Backward(self._model, self.trajectory.derivatives, costs, options)) as backward:
                return backward.run(self.trajectory, self.actions, lambda done: progress("backward", done))
        finally:
            self.close()

    def close(self) -> None:
        """Give up its stores."""
        if self.there:
            self.there = False
            self._stores.close()
            self._folder.cleanup()


@dataclass
class _Shown:
    """Shows fields on the way forward, as a :class:`airshed.adjoint.cost.Cost`."""

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
    """Gives gradients on the way back, as a :class:`airshed.adjoint.cost.Cost`."""

    times: Sequence[float]
    species: Sequence[str]
    force: Force
    value: float = 0.0

    def see(self, seconds: float, fields: Fields) -> None:
        """See nothing: it has no way forward."""

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """See :class:`airshed.adjoint.cost.Cost`."""
        return dict(zip(self.species, self.force(self.times.index(seconds)), strict=True))
