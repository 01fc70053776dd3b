"""Commits of a gradient: the saved state from which another process resumes after a kill.

A commit is complete or absent, see :class:`airshed.inverse.checkpoints.stores.FileStore`. It holds the stored restarts
and the fields that the cost has observed. In the forward run it also holds the state of the model, in the backward
pass the adjoints. Levels are not committed: the steps of their stretch reproduce them bitwise.

Digests detect a different problem. A case in TOML only names its files, and some inputs of a run are not in the case.
The digests therefore cover the data of this rank's columns at the beginning of the run. They do not cover weather and
emission of later hours.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from airshed.core.atomic import guarded
from airshed.core.errors import AirshedError, CaseError, OutputError
from airshed.core.version import __version__
from airshed.inverse.checkpoints.stores import Arrays, FileStore, commits, damage, rank_folder, read_note
from airshed.io.run_state import first_difference
from airshed.kernels.host import AnyArray
from airshed.models.air.boundary.field import LateralBoundary
from airshed.models.air.model import AirModel
from airshed.parallel.communicator import Communicator

_SHARE: Final = 50.0
"""Minimum pause after a commit relative to its duration: commits take at most 2 % of the time."""

_MAY_DIFFER: Final = ("adjoint.commit", "run", "parallel", "output.*.strategy", "output.*.compression")
"""Settings that do not change the results. Tiles are compared separately."""


@dataclass(frozen=True)
class Part:
    """Part of a commit: a function that returns its arrays, and a version number that changes with them."""

    version: float
    arrays: Callable[[], Arrays]


class CommitSource(Protocol):
    """Object whose state is committed."""

    def parts(self) -> Mapping[str, Part]:
        """Return the parts to commit now, by keys of letters, digits and -."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Return metadata that can be written as JSON."""
        ...


@dataclass(frozen=True)
class Problem:
    """Inputs that must be the same when a gradient resumes.

    case     the case in TOML
    request  description of the cost and of the options that affect the result
    tile     number of ranks, and the tile of this one
    digests  digests of files that the case names and of additional inputs, by the message for a difference
    """

    case: str
    request: str
    tile: str
    digests: Mapping[str, str]

    def check(self, saved: Mapping[str, Any], folder: Path) -> None:
        """Raise CaseError for a commit of another problem, and OutputError for one of another version."""
        if saved["airshed"] != __version__:
            raise OutputError(f"{folder} was written by Airshed {saved['airshed']}, this is {__version__}; {_REMEDY}")
        difference = first_difference(saved["case"], self.case, _MAY_DIFFER)
        for name in ("request", "tile"):
            if difference is None and saved[name] != getattr(self, name):
                difference = f"it was {saved[name]}, now is {getattr(self, name)}"
        differences = [text for text, digest in self.digests.items() if saved["digests"].get(text) != digest]
        if difference is None and differences:
            difference = differences[0]
        if difference is not None:
            raise CaseError(f"the gradient in {folder} cannot resume with another case: {difference}; {_REMEDY}")


_REMEDY: Final = "undo the change, or start again without --resume"


class Commits:
    """Commits of a gradient in a folder, with a subfolder for each rank.

    every    minimum wall time [s] between commits, longer where they would take more than 2 % of the time; with 0 the
             state is committed at every opportunity
    note     metadata of the commit from which the gradient resumes; None at the start
    notices  messages about damaged commits, and about the commit from which the gradient resumes

    All ranks call all methods together. Raises the errors of :meth:`Problem.check`.
    """

    def __init__(self, folder: Path, ranks: Communicator, problem: Problem, every: float) -> None:
        self._ranks, self._problem, self._every = ranks, problem, every
        own = rank_folder(folder, ranks.rank)
        self._folder = folder
        _together(ranks, lambda: _check(own, problem))  # before any commit is removed
        number, self.notices = _latest(own, ranks)
        self._store = FileStore(own, number)
        self.note: Mapping[str, Any] | None = None if number is None else self._store.note
        if self.note is not None:
            left = self.note["left"]
            where = "forward pass" if left is None else f"backward pass, with {left} steps left"
            self.notices.append(f"resuming from a commit in the {where}")
        self._versions: dict[str, float] = {} if self.note is None else dict(self.note["versions"])
        self._sources: list[CommitSource] = []
        self._began = self._last = time.monotonic()
        self._took = 0.0

    def add(self, source: CommitSource) -> None:
        """Include the state of an object in commits from now on."""
        self._sources.append(source)

    def get(self, key: str) -> Arrays:
        """Return the arrays that were committed under a key."""
        return self._store.get(key)

    def offer(self) -> None:
        """Commit if a commit is due on any rank."""
        pause = max(self._every, _SHARE * self._took) if self._every > 0.0 else 0.0
        self._commit_if(time.monotonic() - self._last >= pause)

    def offer_before_backward(self) -> None:
        """Commit the result of the forward run, unless repeating it takes less time than the interval of commits."""
        self._commit_if(time.monotonic() - self._began >= self._every)

    def _commit_if(self, due: bool) -> None:
        if self._ranks.largest(np.array([float(due)]))[0]:
            self._commit()

    def _commit(self) -> None:
        """Write changed parts, remove obsolete ones, then make the commit valid."""
        began = time.monotonic()
        parts = {key: part for each in self._sources for key, part in each.parts().items()}
        for key in self._store.keys:
            if key not in parts:
                self._store.drop(key)
        for key, part in parts.items():
            if key not in self._store.keys or self._versions.get(key) != part.version:
                self._store.put(key, part.arrays())
        self._versions = {key: part.version for key, part in parts.items()}
        facts = {name: fact for each in self._sources for name, fact in each.facts().items()}
        problem = {"airshed": __version__, **vars(self._problem)}
        self._store.commit({**facts, "problem": problem, "versions": self._versions})
        self._last = time.monotonic()
        self._took = self._last - began

    def close(self, *, keep: bool) -> None:
        """Close the store; keep: whether the last commit remains, so that another process can resume from it."""
        self._store.close(keep=keep)
        with suppress(OSError):  # the folder may hold files to keep, or files of another rank
            self._folder.rmdir()


@contextmanager
def committing(commits: Commits | None, *, keep: bool) -> Iterator[Commits | None]:
    """Close commits at the end of the block; they remain if it raises an error, or if `keep` is true."""
    try:
        yield commits
    except BaseException:
        if commits is not None:
            commits.close(keep=True)
        raise
    if commits is not None:
        commits.close(keep=keep)


def remove_commits(folder: Path) -> None:
    """Remove all commits of all ranks; raises OutputError where the system refuses to remove a file."""
    with guarded(folder), suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _check(folder: Path, problem: Problem) -> None:
    """Check the problem of the newest commit of a rank whose manifest is complete, see :meth:`Problem.check`."""
    for number in reversed(commits(folder)):
        try:
            saved = read_note(folder, number)["problem"]
        except OutputError:
            continue  # _latest reports it
        problem.check(saved, folder.parent)
        return


def _latest(folder: Path, ranks: Communicator) -> tuple[int | None, list[str]]:
    """Return the number of the newest commit that is complete on all ranks, and messages about damaged newer ones."""
    damages = ranks.gather_all({number: damage(folder, number) for number in commits(folder)})
    lines: list[str] = []
    for number in sorted(set.intersection(*map(set, damages)), reverse=True):
        broken = [each[number] for each in damages if each[number]]
        if not broken:
            return number, lines
        lines += [f"{line}; an earlier commit is used" for line in broken]
    if any(damages):
        lines.append(f"no commit in {folder.parent} is complete; the gradient restarts")
    return None, lines


def _together(ranks: Communicator, check: Callable[[], None]) -> None:
    """Run a check on all ranks; raise the error of the first rank that has one on all ranks."""
    try:
        check()
        mine: AirshedError | None = None
    except AirshedError as error:
        mine = error
    for each in ranks.gather_all(mine):
        if each is not None:
            raise each


def fingerprints(model: AirModel) -> Mapping[str, str]:
    """Return digests of a model before its first step, by the message for a difference."""
    weather, case, network = model.forcing.instant(0), model.case, model.parts.network
    air = (model.stepper.state.q, weather.air, weather.temperature, weather.water, weather.cloud)
    winds: tuple[AnyArray, ...] = weather.flux_x, weather.flux_y
    boundary: tuple[AnyArray, ...] = model.constants.profile, model.constants.top
    if isinstance(model.forcing.boundary, LateralBoundary):
        field = model.forcing.boundary.field
        boundary = (*boundary, field.at(field.times[0]), np.array(field.times))
    files = [case.path(each.file).read_bytes() for each in case.process]
    # The text of a mechanism leaves out comments and the positions of reactions in the file.
    mechanism = [
        repr((network.names, network.reactant_indices, network.net_stoichiometry)),
        *map(str, network.rate_constants),
        repr([(each.name, each.default) for each in network.parameters]),
    ]
    fields = [part for name in sorted(weather.fields) for part in (name, weather.fields[name])]
    emission: list[Any] = []
    for source in model.parts.own_sources:
        emission += [repr((source.species, source.levels, list(source.changes))), source.rate(model.seconds)]
    return {
        "its initial mixing ratios or its weather differ": _digest([*air, *winds]),
        "its lateral boundary differs": _digest(map(np.asarray, boundary)),
        "its mechanism differs": _digest([*mechanism, weather.parameters]),
        "its processes differ": _digest([model.kernel.key, *files, *fields]),
        "its emission at the start differs": _digest(emission),
    }


def _digest(parts: Iterable[Any]) -> str:
    """Return the digest of texts, bytes and arrays, each with its length."""
    found = blake2b(digest_size=16)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        if not isinstance(content, bytes):
            found.update(repr((content.shape, content.dtype.str)).encode())
            content = np.ascontiguousarray(content).tobytes()
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.hexdigest()
