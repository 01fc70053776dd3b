"""Minimisation of the 4D-Var cost function, with a background check and a state file.

The background check rejects observations with too large a departure from the background. The state of the minimisation
is written atomically to a file after each iteration.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError, NumericalError, OutputError
from airshed.core.report import Table
from airshed.inverse.fourdvar.control import ControlVector
from airshed.inverse.fourdvar.cost import Cost, Evaluation, ObservationModel
from airshed.inverse.fourdvar.lbfgs import Memory, begin, iterate
from airshed.observations.observation import Observations

_MOST_LISTED = 20


@dataclass(frozen=True, eq=False)
class BackgroundCheck:
    """Result of the background check.

    departure  normalised innovations (y - H(x_b)) / sigma_t (p,)
    accepted   True for observations that are assimilated (p,)
    """

    observations: Observations
    departure: Array
    accepted: npt.NDArray[np.bool_]

    @property
    def rejected(self) -> int:
        """Number of rejected observations."""
        return int((~self.accepted).sum())

    def table(self) -> Table:
        """Return the rejected observations, those with the largest departures first."""
        numbers = np.flatnonzero(~self.accepted)
        numbers = numbers[np.argsort(-np.abs(self.departure[numbers]), kind="stable")]
        rows = [
            (str(self.observations.where[n]), str(self.observations.species[n]), float(self.observations.value[n]),
             str(self.observations.unit[n]), float(self.departure[n]))
            for n in numbers[:_MOST_LISTED]
        ]  # fmt: skip
        more = f"and {numbers.size - _MOST_LISTED} more" if numbers.size > _MOST_LISTED else ""
        title = f"{numbers.size} of {self.accepted.size} observations rejected by the background check"
        return Table(title, ("place", "species", "value", "unit", "departure [sigma]"), rows, more)


def check_background(
    observations: Observations, simulated: Array, most: float, background_sigma: Array | float = 0.0
) -> BackgroundCheck:
    """Reject y where |y - H(x_b)| > most sqrt(sigma_o^2 + sigma_b^2).

    simulated         (p,) H(x_b), in the units of the observations
    most              limit in standard deviations; infinity rejects none
    background_sigma  standard deviation of H(x_b) in the same units, (p,) or a number; 0 if unknown
    raises            CaseError for a limit that is not above 0, or a simulated value that is not finite
    """
    if not most > 0.0:
        raise CaseError(f"the limit of the background check is {most:g} sigma; give one above 0")
    if not np.isfinite(simulated).all():
        where = observations.where[np.flatnonzero(~np.isfinite(simulated))[0]]
        raise CaseError(f"the simulated value for {where} is not finite")
    departure = (observations.value - simulated) / np.hypot(observations.sigma, background_sigma)
    return BackgroundCheck(observations, departure, np.abs(departure) <= most)


_MEMORY = ("v", "cost", "gradient", "steps", "changes", "iteration")


@dataclass(frozen=True)
class Record:
    """Record of an iteration: cost, parts of the cost by name, norm of the gradient, and number of evaluations."""

    iteration: int
    cost: float
    parts: Mapping[str, float]
    gradient_norm: float
    evaluations: int


@dataclass(frozen=True, eq=False)
class MinimisationState:
    """State from which a minimisation resumes.

    memory      memory of L-BFGS
    history     record of each iteration, that of the background first
    background  observations simulated from the background (p,)
    simulated   observations simulated from the last iterate (p,)
    accepted    True for observations that are assimilated (p,)
    """

    memory: Memory
    history: tuple[Record, ...]
    background: npt.NDArray[np.float64]
    simulated: npt.NDArray[np.float64]
    accepted: npt.NDArray[np.bool_]


def digest(parts: Iterable[object]) -> str:
    """Return a digest of a problem: arrays by their bits, other objects by their text."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        array = part if isinstance(part, np.ndarray) else np.array(str(part))
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def save_state(path: Path, saved: MinimisationState, problem: str) -> None:
    """Write the state atomically: a process that is killed leaves the previous state. Raises OutputError."""
    names = list(saved.history[0].parts)
    arrays: dict[str, Any] = {name: getattr(saved.memory, name) for name in _MEMORY}
    arrays |= {"problem": problem, "names": np.array(names, np.str_)}
    arrays |= {name: getattr(saved, name) for name in ("background", "simulated", "accepted")}
    arrays["history"] = [
        [each.iteration, each.cost, each.gradient_norm, each.evaluations, *(each.parts[name] for name in names)]
        for each in saved.history
    ]
    with write_whole(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)


def load_state(path: Path, problem: str) -> MinimisationState | None:
    """Return the state in a file, None if there is no file.

    raises  OutputError for a file that is damaged, or that belongs to another problem
    """
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
        names = held["names"].tolist()
        memory = {name: held[name] for name in _MEMORY} | {"cost": float(held["cost"])}
        memory["iteration"] = int(held["iteration"])
        history = tuple(
            Record(int(iteration), cost, dict(zip(names, parts, strict=True)), norm, int(evaluations))
            for iteration, cost, norm, evaluations, *parts in held["history"].tolist()
        )
        found = MinimisationState(Memory(**memory), history, held["background"], held["simulated"], held["accepted"])
        whose = str(held["problem"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OutputError(f"{path} cannot be read ({error}); remove it to restart the assimilation") from None
    if whose != problem:
        raise OutputError(
            f"{path} belongs to an assimilation with other controls, observations or covariances; undo the change, "
            "or remove the file to restart"
        )
    return found


Why = Literal["gradient", "cost", "iterations", "no step"]
OnIteration = Callable[[Record], None]


@dataclass(frozen=True)
class Stop:
    """Stopping criteria of the minimisation; the first one that is met ends it.

    iterations  maximum number of iterations
    gradient    limit of |g| / |g at the background|
    cost        limit of the relative decrease of J in one iteration
    """

    iterations: int = 30
    gradient: float = 1e-3
    cost: float = 1e-5


@dataclass(frozen=True, eq=False)
class Analysis:
    """Result of the minimisation.

    v           control vector of the analysis
    controls    factors and increments for the model, by block
    background  observations simulated from the background (p,)
    simulated   observations simulated from the analysis (p,)
    accepted    True for observations that are assimilated (p,)
    history     record of each iteration, that of the background first
    memory      memory of L-BFGS at the end
    stopped     stopping criterion that was met
    """

    v: Array
    controls: Mapping[str, Array]
    background: Array
    simulated: Array
    accepted: npt.NDArray[np.bool_]
    history: tuple[Record, ...]
    memory: Memory
    stopped: Why


class FourDVar:
    """Minimisation of :class:`Cost` by L-BFGS; with a file a killed minimisation resumes with the same iterates.

    check             limit of the background check in standard deviations; infinity rejects none
    background_share  standard deviation of H(x_b) in this check, relative to its value; it prevents the rejection of
                      departures that the assimilation can correct
    writes            whether the file is also written; with several ranks only one writes it
    """

    writes = True

    def __init__(
        self, model: ObservationModel, control: ControlVector, observations: Observations, *,
        stop: Stop | None = None, check: float = np.inf, background_share: float = 0.5,
        file: Path | None = None,
    ) -> None:  # fmt: skip
        self.model, self.control, self.observations = model, control, observations
        self.stop, self.check, self.background_share, self.file = stop or Stop(), check, background_share, file
        self._problem = digest(self._identity()) if file else ""

    def run(self, on_iteration: OnIteration | None = None, *, start: Array | None = None) -> Analysis:
        """Minimise, and return the analysis.

        on_iteration  callback for each iteration, after its state is on disk
        start         first guess of v, by default the background; a state in the file takes precedence
        raises        OutputError for a file of another problem; NumericalError if the first run is not finite;
                      CaseError if all observations are rejected, or if no control has an effect on them
        """
        saved = load_state(self.file, self._problem) if self.file else None
        if saved is None:
            saved = self._begin(start)
            self._save(saved, on_iteration)
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
            self._save(saved, on_iteration)
        return Analysis(
            saved.memory.v, self.control.controls(saved.memory.v), saved.background, saved.simulated, saved.accepted,
            saved.history, saved.memory, why,
        )  # fmt: skip

    def cost(self, accepted: npt.NDArray[np.bool_]) -> Cost:
        """Return the cost function of the accepted observations."""
        return Cost(self.model, self.control, self.observations, accepted)

    def _begin(self, start: Array | None) -> MinimisationState:
        """Run the background, check the observations, and evaluate the first guess, by default the background."""
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
                f"by {abs(checked.departure[nearest]):.3g} standard deviations; check their units and errors"
            )
        cost = self.cost(accepted)
        found = cost.of_run(zero, background, pullback) if start is None else cost(start)
        if not np.isfinite(found.cost):
            raise NumericalError("the warm start simulates observations that are not finite; start without it")
        if found.cost > 0.0 and not found.gradient.any():
            raise CaseError(
                "no control changes any simulated observation; check the window, the locations and times of the "
                "observations, and the controls"
            )
        memory = begin(zero if start is None else start, found)
        first = _record(memory, found, 1 if start is None else 2)
        return MinimisationState(memory, (first,), background, found.simulated, accepted)

    def _save(self, saved: MinimisationState, on_iteration: OnIteration | None) -> None:
        if self.file and self.writes:
            save_state(self.file, saved, self._problem)
        if on_iteration:
            on_iteration(saved.history[-1])

    def _why_to_stop(self, saved: MinimisationState) -> Why | None:
        first, last = saved.history[0], saved.history[-1]
        if last.gradient_norm <= self.stop.gradient * first.gradient_norm:
            return "gradient"
        before = saved.history[-2] if len(saved.history) > 1 else None
        if before and before.cost - last.cost <= self.stop.cost * before.cost:
            return "cost"
        return "iterations" if last.iteration >= self.stop.iterations else None

    def _identity(self) -> list[object]:
        """Return the data that identify the problem; stopping criteria are left out."""
        y = self.observations
        found: list[object] = [
            self.check, self.background_share, y.value, y.sigma, y.lon, y.lat, y.begin, y.end, y.species, y.unit, y.kind
        ]  # fmt: skip
        found += [array for kernel in y.kernels if kernel for array in (kernel.edges, kernel.weights, kernel.a_priori)]
        for block in self.control.blocks:
            found += [block.name, block.dims, block.kind, np.asarray(block.background), block.covariance.sigma]
            found += ["none" if root is None else root for root in block.covariance.roots]
        return found


def _record(memory: Memory, found: Evaluation, evaluations: int) -> Record:
    norm = float(np.linalg.norm(found.gradient))
    return Record(memory.iteration, found.cost, found.parts, norm, evaluations)
