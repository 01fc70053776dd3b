"""4D-Var: the controls whose simulation is nearest to the background and to all observations of a window.

The background check rejects observations that are too far from what the background simulates. The state of the
minimisation is written to a file, whole or not at all, after each iteration.
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
from airshed.inverse.fourdvar.cost import Cost, Evaluation, Observed
from airshed.inverse.fourdvar.lbfgs import Memory, begin, iterate
from airshed.observations.observation import Observations

_MOST_LISTED = 20


@dataclass(frozen=True, eq=False)
class BackgroundCheck:
    """Which observations are assimilated, and why others are not.

    departure  (p,) innovations in standard deviations, (y - H(x_b)) / sigma_t;  accepted  (p,)
    """

    observations: Observations
    departure: Array
    accepted: npt.NDArray[np.bool_]

    @property
    def rejected(self) -> int:
        """The number of observations that are not assimilated."""
        return int((~self.accepted).sum())

    def table(self) -> Table:
        """Return the rejected observations, the farthest ones first."""
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
    background_sigma  (p,) or a number: deviation of H(x_b) itself, in the same units; 0 where it is not known
    raises            CaseError for a limit that is not above 0, or a simulated value that is not finite
    """
    if not most > 0.0:
        raise CaseError(f"the limit of the background check is {most:g} sigma; give one above 0")
    if not np.isfinite(simulated).all():
        where = observations.where[np.flatnonzero(~np.isfinite(simulated))[0]]
        raise CaseError(f"the model simulates no finite value for {where}")
    departure = (observations.value - simulated) / np.hypot(observations.sigma, background_sigma)
    return BackgroundCheck(observations, departure, np.abs(departure) <= most)


_MEMORY = ("v", "cost", "gradient", "steps", "changes", "iteration")


@dataclass(frozen=True)
class Record:
    """Report of an iteration: the cost, its parts by name, the gradient's norm, and evaluations up to here."""

    iteration: int
    cost: float
    parts: Mapping[str, float]
    gradient_norm: float
    evaluations: int


@dataclass(frozen=True, eq=False)
class Saved:
    """All that a minimisation needs to go on.

    memory     of the minimiser;  history: a record of each iteration, that of the background first
    simulated  (p,) observations of the background, and those of the last iterate;  accepted  (p,)
    """

    memory: Memory
    history: tuple[Record, ...]
    background: npt.NDArray[np.float64]
    simulated: npt.NDArray[np.float64]
    accepted: npt.NDArray[np.bool_]


def digest(parts: Iterable[object]) -> str:
    """Return a fingerprint of a problem: of arrays by their bits, of anything else by its text."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        array = part if isinstance(part, np.ndarray) else np.array(str(part))
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def save_state(path: Path, saved: Saved, problem: str) -> None:
    """Write the state; a process that is killed meanwhile leaves the one before. Raises OutputError."""
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


def load_state(path: Path, problem: str) -> Saved | None:
    """Return the state in a file, None where there is no file.

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
        found = Saved(Memory(**memory), history, held["background"], held["simulated"], held["accepted"])
        whose = str(held["problem"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OutputError(f"{path} cannot be read ({error}); remove it to restart the assimilation") from None
    if whose != problem:
        raise OutputError(
            f"{path} belongs to an assimilation with other controls, observations or covariances; undo the change, "
            "or remove the file to start again"
        )
    return found


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
        self._problem = digest(self._identity()) if file else ""

    def run(self, see: See | None = None, *, start: Array | None = None) -> Analysis:
        """Minimise, and return the analysis.

        see    callback for each iteration, after its state is on the disk
        start  v to begin with instead of the background (a warm start); what a file holds comes before it
        raises OutputError for a file of another problem, NumericalError where the first run is not finite, CaseError
               where the background check rejects all observations, and where no control has an effect on them
        """
        saved = load_state(self.file, self._problem) if self.file else None
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
            save_state(self.file, saved, self._problem)
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
