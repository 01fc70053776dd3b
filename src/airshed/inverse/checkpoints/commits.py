"""Commits of a gradient: the saved state from which another process resumes after a kill.

A commit is whole or not at all, see :class:`airshed.inverse.checkpoints.stores.FileStore`. It has what cannot be
computed again: the stored restarts, in the forward pass the model's state, in the backward pass the adjoints, and the
fields that the cost has observed. Levels are not in it, as the steps of their stretch give them again, to the bit.

Digests detect another problem. A case in TOML only names its files, and some inputs of a run are not in it: the digests
are of what was made of them in this rank's columns at the beginning. Weather and emission of later hours are not seen.
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
from airshed.inverse.checkpoints.stores import Arrays, FileStore, commits, damage, note_of, rank_folder
from airshed.io.run_state import first_difference
from airshed.kernels.host import AnyArray
from airshed.models.air.model import AirModel
from airshed.parallel.communicator import Communicator

_SHARE: Final = 50.0
"""So many times as long as a commit takes nothing is committed after it: commits take 2 % of the time at most."""

_MAY_DIFFER: Final = ("adjoint.commit", "run", "parallel", "output.*.strategy", "output.*.compression")
"""Settings that change no bit. Tiles are looked at apart."""


@dataclass(frozen=True)
class Part:
    """Part of a commit: a function that returns its arrays, and a number that changes when they have changed."""

    version: float
    arrays: Callable[[], Arrays]


class Committed(Protocol):
    """Object whose state is committed."""

    def parts(self) -> Mapping[str, Part]:
        """Return what is committed now, by keys: letters, digits and -."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Return metadata that JSON can hold."""
        ...


@dataclass(frozen=True)
class Problem:
    """Inputs that must be the same when a gradient resumes.

    case     in TOML
    asked    for: the cost, and what else decides about the result, in words
    place    the ranks, and the tile of this one
    digests  of what the case only names, or of additional inputs, by the message where one differs
    """

    case: str
    asked: str
    place: str
    digests: Mapping[str, str]

    def check(self, saved: Mapping[str, Any], folder: Path) -> None:
        """Raise CaseError for the state of another problem, and OutputError for that of another version."""
        if saved["airshed"] != __version__:
            raise OutputError(f"{folder} was left by Airshed {saved['airshed']}, this is {__version__}; {_MEND}")
        difference = first_difference(saved["case"], self.case, _MAY_DIFFER)
        for name in ("asked", "place"):
            if difference is None and saved[name] != getattr(self, name):
                difference = f"it was {saved[name]}, now is {getattr(self, name)}"
        others = [said for said, digest in self.digests.items() if saved["digests"].get(said) != digest]
        if difference is None and others:
            difference = others[0]
        if difference is not None:
            raise CaseError(f"the gradient in {folder} cannot resume with another case: {difference}; {_MEND}")


_MEND: Final = "undo that, or start again without --resume"


class Commits:
    """The commits of a gradient in a folder, those of this rank in a folder of their own.

    every    [s] of wall time between them at least, and longer where they take more than 2 % of it; with 0 at every
             opportunity
    note     metadata of the commit from which the gradient resumes; None at the start
    notices  lines about commits that are damaged, and the beginning
    All ranks call everything together. Raises what :meth:`Problem.check` does.
    """

    def __init__(self, folder: Path, ranks: Communicator, problem: Problem, every: float) -> None:
        self._ranks, self._problem, self._every = ranks, problem, every
        own = rank_folder(folder, ranks.rank)
        self._folder = folder
        _together(ranks, lambda: _check(own, problem))  # also where other ranks have no commit: nothing is lost then
        number, self.notices = _latest(own, ranks)
        self._store = FileStore(own, number)
        self.note: Mapping[str, Any] | None = None if number is None else self._store.note
        if self.note is not None:
            left = self.note["left"]
            where = "forward pass" if left is None else f"backward pass, with {left} steps left"
            self.notices.append(f"resuming from a commit in the {where}")
        self._versions: dict[str, float] = {} if self.note is None else dict(self.note["versions"])
        self._what: list[Committed] = []
        self._began = self._last = time.monotonic()
        self._took = 0.0

    def add(self, what: Committed) -> None:
        """Let something be committed from now on."""
        self._what.append(what)

    def get(self, key: str) -> Arrays:
        """Return what was committed under a key."""
        return self._store.get(key)

    def offer(self) -> None:
        """Commit if that is due on any of the ranks."""
        pause = max(self._every, _SHARE * self._took) if self._every > 0.0 else 0.0
        self._commit_if(time.monotonic() - self._last >= pause)

    def turn(self) -> None:
        """Commit what the way forward has left, unless that is done again in less than the time between commits."""
        self._commit_if(time.monotonic() - self._began >= self._every)

    def _commit_if(self, due: bool) -> None:
        if self._ranks.largest(np.array([float(due)]))[0]:
            self._commit()

    def _commit(self) -> None:
        """Write what has changed, remove what is gone, then make the commit valid."""
        began = time.monotonic()
        parts = {key: part for each in self._what for key, part in each.parts().items()}
        for key in self._store.keys:
            if key not in parts:
                self._store.drop(key)
        for key, part in parts.items():
            if key not in self._store.keys or self._versions.get(key) != part.version:
                self._store.put(key, part.arrays())
        self._versions = {key: part.version for key, part in parts.items()}
        facts = {name: fact for each in self._what for name, fact in each.facts().items()}
        problem = {"airshed": __version__, **vars(self._problem)}
        self._store.commit({**facts, "problem": problem, "versions": self._versions})
        self._last = time.monotonic()
        self._took = self._last - began

    def close(self, *, keep: bool) -> None:
        """End; keep: whether another process may go on from the last commit."""
        self._store.close(keep=keep)
        with suppress(OSError):  # the folder holds files to keep, or of another rank
            self._folder.rmdir()


@contextmanager
def committing(commits: Commits | None, *, keep: bool) -> Iterator[Commits | None]:
    """Close commits at the end of the block; they stay if it raises, or where they are to be kept."""
    try:
        yield commits
    except BaseException:
        if commits is not None:
            commits.close(keep=True)
        raise
    if commits is not None:
        commits.close(keep=keep)


def remove_commits(folder: Path) -> None:
    """Remove all commits of all ranks; raises OutputError for what the system refuses."""
    with guarded(folder), suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _check(folder: Path, problem: Problem) -> None:
    """Raise what :meth:`Problem.check` does for the newest commit of a rank whose manifest is whole."""
    for number in reversed(commits(folder)):
        try:
            saved = note_of(folder, number)["problem"]
        except OutputError:
            continue  # _latest reports it
        problem.check(saved, folder.parent)
        return


def _latest(folder: Path, ranks: Communicator) -> tuple[int | None, list[str]]:
    """Return the number of the newest commit that is whole on all ranks, and lines about newer ones that are not."""
    told = ranks.gather_all({number: damage(folder, number) for number in commits(folder)})
    lines: list[str] = []
    for number in sorted(set.intersection(*map(set, told)), reverse=True):
        broken = [each[number] for each in told if each[number]]
        if not broken:
            return number, lines
        lines += [f"{line}; an earlier commit is taken" for line in broken]
    if any(told):
        lines.append(f"no commit in {folder.parent} is whole; the gradient restarts")
    return None, lines


def _together(ranks: Communicator, check: Callable[[], None]) -> None:
    """Check something on all ranks; raise the error of the first that has one on all of them."""
    try:
        check()
        mine: AirshedError | None = None
    except AirshedError as error:
        mine = error
    for each in ranks.gather_all(mine):
        if each is not None:
            raise each


def fingerprints(model: AirModel) -> Mapping[str, str]:
    """Return digests of a model that has not begun, by the message where one differs."""
    weather, case, network = model.forcing.instant(0), model.case, model.parts.network
    air = (model.stepper.state.q, weather.air, weather.temperature, weather.water, weather.cloud)
    winds: tuple[AnyArray, ...] = weather.flux_x, weather.flux_y
    boundary: tuple[AnyArray, ...] = model.constants.profile, model.constants.top
    if model.forcing.boundary is not None:
        field = model.forcing.boundary.field
        boundary = (*boundary, field.at(field.times[0]), np.array(field.times))
    files = [case.path(each.file).read_bytes() for each in case.process]
    # Comments, and where in its file a reaction stands, are not in the words of a mechanism.
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
        "it began with other mixing ratios, or other weather": _digest([*air, *winds]),
        "its lateral boundary differs": _digest(map(np.asarray, boundary)),
        "it has another mechanism": _digest([*mechanism, weather.parameters]),
        "its processes are others": _digest([model.kernel.key, *files, *fields]),
        "it began with another emission": _digest(emission),
    }


def _digest(parts: Iterable[Any]) -> str:
    """Digest texts, bytes and arrays, each with what divides it from the next."""
    found = blake2b(digest_size=16)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        if not isinstance(content, bytes):
            found.update(repr((content.shape, content.dtype.str)).encode())
            content = np.ascontiguousarray(content).tobytes()
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.hexdigest()
