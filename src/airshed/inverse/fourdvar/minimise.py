"""4D-Var: the controls whose simulation is nearest to the background and to all observations of a window."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError, NumericalError
from airshed.inverse.fourdvar import state_file
from airshed.inverse.fourdvar.background_check import check_background
from airshed.inverse.fourdvar.control import ControlVector
from airshed.inverse.fourdvar.cost import Cost, Evaluation
from airshed.inverse.fourdvar.lbfgs import Memory, begin, iterate
from airshed.inverse.fourdvar.seam import Observed
from airshed.inverse.fourdvar.state_file import Record, Saved
from airshed.observations.observation import Observations

Array = npt.NDArray[np.float64]
Why = Literal["gradient", "cost", "iterations", "no step"]
See = Callable[[Record], None]


@dataclass(frozen=True)
class Stop:
    """When the minimisation ends, whichever comes first.

    iterations  most of them
    gradient    |g| / |g at the background| that is enough
    cost        relative decrease of J in one iteration below which nothing more is to be had
    """

    iterations: int = 30
    gradient: float = 1e-3
    cost: float = 1e-5


@dataclass(frozen=True, eq=False)
class Analysis:
    """The result: v and what the model gets by it, observations before and after, the history, and why it ended."""

    v: Array
    controls: Mapping[str, Array]
    background: Array
    simulated: Array
    accepted: npt.NDArray[np.bool_]
    history: tuple[Record, ...]
    memory: Memory
    stopped: Why


class FourDVar:
    """Minimises :class:`Cost` by L-BFGS; with a file it goes on where it was killed, with the same iterates.

    check             limit of the background check in standard deviations; infinity rejects none
    background_share  there, the deviation of H(x_b) as a share of it: what the assimilation is to mend is not rejected
    writes            whether it writes the file, and does not only go on from it: of several ranks one does
    """

    writes = True

    def __init__(
        self, model: Observed, control: ControlVector, observations: Observations, *,
        stop: Stop | None = None, check: float = np.inf, background_share: float = 0.5,
        file: Path | None = None,
    ) -> None:  # fmt: skip
        self.model, self.control, self.observations = model, control, observations
        self.stop, self.check, self.background_share, self.file = stop or Stop(), check, background_share, file
        self._problem = state_file.digest(self._identity()) if file else ""

    def run(self, see: See | None = None, *, start: Array | None = None) -> Analysis:
        """Minimise, and return the analysis.

        see    is told of each iteration, after its state is on the disk
        start  v to begin with instead of the background (a warm start); what a file holds comes before it
        raises OutputError for a file of another problem, NumericalError where the first run is not finite, CaseError
               where the background check rejects all observations, and where no control has an effect on them
        """
        saved = state_file.load(self.file, self._problem) if self.file else None
        if saved is None:
            saved = self._begin(start)
            self._keep(saved, see)
        cost = self.cost(saved.accepted)
        cost.evaluations = saved.history[-1].evaluations
        while (why := self._why_to_stop(saved)) is None:
            found = iterate(saved.memory, cost)
            if found is None:
                why = "no step"
                break
            memory, evaluated = found
            record = _record(memory, evaluated, cost.evaluations)
            saved = replace(saved, memory=memory, history=(*saved.history, record), simulated=evaluated.simulated)
            self._keep(saved, see)
        return Analysis(
            saved.memory.v, self.control.controls(saved.memory.v), saved.background, saved.simulated, saved.accepted,
            saved.history, saved.memory, why,
        )  # fmt: skip

    def cost(self, accepted: npt.NDArray[np.bool_]) -> Cost:
        """Return the cost function for observations that are accepted."""
        return Cost(self.model, self.control, self.observations, accepted)

    def _begin(self, start: Array | None) -> Saved:
        """Run the background, check the observations against it, and evaluate the start, which mostly is the same."""
        zero = np.zeros(self.control.size)
        background, pullback = self.model.value_and_gradient(self.control.controls(zero))
        if not np.isfinite(background).all():
            raise NumericalError("the background simulates observations that are not finite")
        spread = self.background_share * np.abs(background)
        checked = check_background(self.observations, background, self.check, spread)
        accepted = checked.accepted
        if not accepted.any():
            nearest = int(np.argmin(np.abs(checked.departure)))
            raise CaseError(
                f"the background check rejects all observations, the nearest one ({self.observations.where[nearest]}) "
                f"by {abs(checked.departure[nearest]):.3g} standard deviations; look at their units and errors"
            )
        cost = self.cost(accepted)
        found = cost.of_run(zero, background, pullback) if start is None else cost(start)
        if not np.isfinite(found.cost):
            raise NumericalError("the warm start simulates observations that are not finite; begin without it")
        if found.cost > 0.0 and not found.gradient.any():
            raise CaseError(
                "no control changes any simulated observation; look at the window, at the places and times of the "
                "observations, and at the controls"
            )
        memory = begin(zero if start is None else start, found)
        first = _record(memory, found, 1 if start is None else 2)
        return Saved(memory, (first,), background, found.simulated, accepted)

    def _keep(self, saved: Saved, see: See | None) -> None:
        if self.file and self.writes:
            state_file.save(self.file, saved, self._problem)
        if see:
            see(saved.history[-1])

    def _why_to_stop(self, saved: Saved) -> Why | None:
        first, last = saved.history[0], saved.history[-1]
        if last.gradient_norm <= self.stop.gradient * first.gradient_norm:
            return "gradient"
        before = saved.history[-2] if len(saved.history) > 1 else None
        if before and before.cost - last.cost <= self.stop.cost * before.cost:
            return "cost"
        return "iterations" if last.iteration >= self.stop.iterations else None

    def _identity(self) -> list[object]:
        """Return what makes the problem what it is; stop rules may differ."""
        y = self.observations
        found: list[object] = [
            self.check,
            self.background_share,
            y.value,
            y.sigma,
            y.lon,
            y.lat,
            y.begin,
            y.end,
            y.species,
            y.unit,
            y.kind,
        ]
        found += [array for kernel in y.kernels if kernel for array in (kernel.edges, kernel.weights, kernel.a_priori)]
        for block in self.control.blocks:
            found += [block.name, block.dims, block.kind, np.asarray(block.background), block.covariance.sigma]
            found += ["none" if root is None else root for root in block.covariance.roots]
        return found


def _record(memory: Memory, found: Evaluation, evaluations: int) -> Record:
    norm = float(np.linalg.norm(found.gradient))
    return Record(memory.iteration, found.cost, found.parts, norm, evaluations)
