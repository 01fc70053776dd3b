"""The forward run with its checkpoints: the executor of a checkpoint plan, and its stores by the settings of a case.

A restart is the saved state of the model. A level is the mixing ratios and the air. Records of steps remain in memory:
the steps of an hour share the fields of their forcing. Snapshots are converted to arrays, which any store accepts.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from airshed.core.errors import NumericalError, OutputError
from airshed.inverse.checkpoints.actions import (
    Action,
    Advance,
    DiscardLevels,
    DiscardRestart,
    Place,
    Restore,
    Reverse,
    Sizes,
)
from airshed.inverse.checkpoints.commits import Commits, Part
from airshed.inverse.checkpoints.plans import Budget
from airshed.inverse.checkpoints.stores import (
    Arrays,
    FileStore,
    GroupStore,
    MemoryStore,
    SharedStore,
    Store,
    aligned,
    rank_folder,
    size_of,
)
from airshed.inverse.reverse.derivatives import create_derivatives, observing
from airshed.inverse.reverse.runners import ReverseStep
from airshed.io.block_file import BlockFile
from airshed.kernels.step.arguments import TimeLevel
from airshed.models.air.case.sections import AdjointSection
from airshed.models.air.model import AirModel
from airshed.models.air.programs.records import StepRecord
from airshed.parallel.communicator import Communicator
from airshed.runtime.clock import Clock
from airshed.runtime.model import Snapshot

_TILED: Final = "tiled."
_WHOLE: Final = "whole."
_METADATA: Final = "metadata"

_STATE: Final = "tiled.state."
_RESTART: Final = "restart-"
_LEVEL: Final = "level-"
_SINGLE: Final = "-single"
"""Suffix of the names of arrays that were rounded from double precision."""


class Trajectory:
    """Executor of a checkpoint plan for a model, with the stores of its case.

    folder     parent of the temporary folder for checkpoints; by default that of the system
    ends       ends of the steps of the forward run [s]
    begin      begin of the first step [s]
    recomputed number of steps recomputed so far
    left       number of steps still to be reversed; None in the forward run
    planned    ends of the planned steps of the forward run [s]
    """

    def __init__(self, model: AirModel, folder: Path | None = None) -> None:
        section = model.case.adjoint
        self._model, self._single = model, section.rounding == "single"
        self.derivatives = create_derivatives(model, share=True)
        with ExitStack() as stack:  # on exit another rank may still be removing its files
            own = stack.enter_context(TemporaryDirectory(prefix="airshed-", dir=folder, ignore_cleanup_errors=True))
            self._stores = make_stores(section, Path(own), model.subdomain.ranks)
            for store in self._stores.values():
                stack.callback(store.close)
            self._close = stack.pop_all()
        self.begin = model.seconds
        self.ends: list[float] = []
        self.recomputed = 0
        self.left: int | None = None
        self.planned: list[float] = []
        self._records: dict[int, StepRecord] = {}
        self._at_hand: dict[int, TimeLevel] = {}  # levels that the next reversed step reads as well
        self._done = 0  # number of completed actions of the forward run or the backward pass

    @property
    def sizes(self) -> Sizes:
        """Maximum sizes of a restart and of a level over all ranks, so that all ranks have the same plan."""
        model, state = self._model, self._model.stepper.state
        own = size_of(as_arrays(model.save())), state.q.nbytes + state.air.nbytes + self.derivatives.record_bytes
        return Sizes(*(int(model.subdomain.greatest(float(each))) for each in own))

    def run(self, actions: Iterator[Action], clocks: Iterable[tuple[Clock, float]], seen: Callable[[], None]) -> None:
        """Run forward by the actions of a plan, shortened at the end of the run.

        clocks  clocks in order, each with the time [s] at which it ends; `seen` is called there and after each batch
        """
        remaining = islice(actions, self._done, None)
        action = next(remaining)
        for clock, until in clocks:
            while self._model.seconds < until:
                number = len(self.ends)
                while not isinstance(action, Advance) or number >= action.last:
                    if isinstance(action, Advance):
                        self._store_restarts(action, number)
                    else:
                        self.do(action)
                    action, self._done = next(remaining), self._done + 1
                self._store_restarts(action, number)
                most = 1 if action.save_levels else min(self._model.batch_limits.batch, action.last - number)
                ends = clock.next_steps(until, most)
                self._advance(action, number, ends)
                self.ends += ends
                self.planned = clock.planned
                seen()

    def reverse(self, actions: Iterable[Action]) -> Iterator[ReverseStep]:
        """Execute the actions of the backward pass; yield the steps to reverse, the last one first."""
        if self.left is None:
            self.left, self._done = len(self.ends), 0
        for action in islice(actions, self._done, None):
            self._at_hand.clear()
            if isinstance(action, Reverse):
                for step in reversed(range(action.first, self.left)):
                    self.left = step
                    yield self._reverse_step(step)
                    self._at_hand = {number: each for number, each in self._at_hand.items() if number <= step}
            else:
                self.do(action)
            self._done += 1

    def do(self, action: Action) -> None:
        """Execute an action other than :class:`Reverse`."""
        match action:
            case Advance():
                for step in range(action.first, action.last):
                    self._store_restarts(action, step)
                    self._advance(action, step, self.ends[step : step + 1])
                    self.recomputed += 1
                self._store_restarts(action, action.last)
            case Restore(step, store):
                self._model.restore(as_snapshot(self._stores[store].get(_restart(step))))
            case DiscardRestart(step, store):
                self._stores[store].drop(_restart(step))
            case DiscardLevels(first, last, store):
                for level in range(first + 1, last + 1):
                    self._stores[store].drop(_level(level))
                    self._records.pop(level - 1, None)

    def close(self) -> None:
        """Discard all checkpoints."""
        self._close.close()

    def record(self, step: int) -> StepRecord:
        """Return the record of a step in the part of the run that is being reversed."""
        return self._records[step]

    def parts(self) -> Mapping[str, Part]:
        """Return the restarts, and in the forward run the state of the model; see ``commits.CommitSource``."""
        found = {key: Part(0, partial(self._stores[place].get, key)) for place, key in self._stored(_RESTART)}
        found["ends"] = Part(len(self.ends), lambda: {"ends": np.array(self.ends)})
        if self.left is None:
            found["model"] = Part(len(self.ends), lambda: as_arrays(self._model.save()))
        return found

    def facts(self) -> Mapping[str, Any]:
        """Return the progress of the run and the keys of its checkpoints."""
        levels = [(place, _number(key)) for place, key in self._stored(_LEVEL)]
        return {
            "left": self.left, "done": self._done, "recomputed": self.recomputed, "planned": self.planned,
            "restarts": self._stored(_RESTART), "levels": levels,
        }  # fmt: skip

    def resume(self, commits: Commits) -> None:
        """Restore the committed state; levels are recomputed from the restarts."""
        assert commits.note is not None
        note = commits.note
        self.ends = [float(end) for end in commits.get("ends")["ends"]]
        for place, key in note["restarts"]:
            self._stores[place].put(key, commits.get(key))
        # Repeat the steps whose levels were stored, each stretch from the last restart before it.
        levels: dict[int, Place] = {number: place for place, number in note["levels"]}
        stores: dict[int, Place] = {_number(key): place for place, key in note["restarts"]}
        at = -1
        for level in sorted(levels):
            if at != level - 1:
                at = max(step for step in stores if step < level)
                self.do(Restore(at, stores[at]))
            for step in range(at, level):
                action = Advance(step, step + 1, save_levels=step + 1 == level, store=levels[level])
                self._advance(action, step, self.ends[step : step + 1])
            at = level

        self.left, self._done, self.recomputed = note["left"], note["done"], note["recomputed"]
        self.planned = list(note["planned"])
        if self.left is None:
            self._model.restore(as_snapshot(commits.get("model")))

    def _stored(self, kind: str) -> list[tuple[Place, str]]:
        """Return the stores and keys of all restarts or levels."""
        return [(place, key) for place, store in self._stores.items() for key in store.keys if key.startswith(kind)]

    def _advance(self, action: Advance, number: int, ends: list[float]) -> None:
        if not action.save_levels:
            self._model.step_through(ends)
            return
        with observing(self._model, lambda record: self._records.__setitem__(number, record.detached())):
            self._model.step_through(ends)
        level = {"q": self._model.stepper.state.q, "air": self._model.stepper.state.air}
        self._stores[action.store].put(_level(number + 1), rounded(level) if self._single else level)

    def _store_restarts(self, action: Advance, step: int) -> None:
        store = self._stores[action.store]
        if step in action.restarts and _restart(step) not in store.keys:
            store.put(_restart(step), as_arrays(self._model.save()))

    def _reverse_step(self, step: int) -> ReverseStep:
        newest, restart = self._stored_level(step + 1), self._restart(step)
        assert newest is not None
        if restart is not None:
            first, earlier = self._level(restart, "q", "air"), self._level(restart, "q_other", "air_other")
            return ReverseStep(self._records[step], (earlier, first, newest), aligned(restart[f"{_STATE}tendency"]))
        beginning, now = self._restart(step - 1), self._stored_level(step)
        before = self._stored_level(step - 1) if beginning is None else self._level(beginning, "q", "air")
        assert now is not None
        assert before is not None
        return ReverseStep(self._records[step], (before, now, newest), self._records[step - 1])

    def _stored_level(self, number: int) -> TimeLevel | None:
        """Return a level; it is read from its store once for the three steps that use it."""
        arrays = None if number in self._at_hand else self._get(_level(number))
        if arrays is not None:
            arrays = restored(arrays) if self._single else arrays
            self._at_hand[number] = TimeLevel(aligned(arrays["q"]), aligned(arrays["air"]))
        return self._at_hand.get(number)

    def _restart(self, step: int) -> Arrays | None:
        return self._get(_restart(step))

    def _get(self, key: str) -> Arrays | None:
        return next((store.get(key) for store in self._stores.values() if key in store.keys), None)

    def _level(self, restart: Arrays, q: str, air: str) -> TimeLevel:
        return TimeLevel(aligned(restart[_STATE + q]), aligned(restart[_STATE + air]))


def storage_budget(section: AdjointSection, sizes: Sizes) -> Budget:
    """Return the budget for checkpoints from the settings of a case.

    A store of files holds all checkpoints on disk. Otherwise restarts are on disk until its budget is used up.

    sizes  sizes of checkpoints before rounding
    """
    if section.rounding == "single":
        sizes = replace(sizes, level=(sizes.level + 1) // 2)
    memory, disk = int(section.memory.value), int(section.disk.value)
    if section.store == "memory":
        return Budget(sizes, memory, disk)
    return Budget(sizes, memory, disk, levels="disk", restarts="disk")


def make_stores(section: AdjointSection, folder: Path, ranks: Communicator) -> dict[Place, Store]:
    """Return the stores of a case by their names in a plan; the disk store is files if the case uses memory.

    folder  folder of this rank alone for files; shared files are in the folder of the first rank, which exists
    ranks   ranks that call this together

    Raises OutputError if this rank cannot access the folder of the first rank.
    """
    disk: Store
    if section.store in ("mpiio", "zarr"):
        shared: Path = ranks.broadcast(folder)
        if not shared.is_dir():  # a rank on another machine would create a private folder
            raise OutputError(
                f"rank {ranks.rank} cannot access {shared}, where the first rank stores checkpoints; set TMPDIR to a "
                "folder that all machines share, or adjoint.store to files or memory"
            )
        if section.store == "mpiio":
            disk = SharedStore(BlockFile(shared / "checkpoints", ranks))
        else:
            disk = GroupStore(rank_folder(shared, ranks.rank))
    else:
        disk = FileStore(folder)
    return {"memory": MemoryStore(), "disk": disk}


def rounded(arrays: Arrays) -> Arrays:
    """Return arrays with doubles rounded to single precision, under names with a suffix.

    |rounded - value| <= max(2^-24 |value|, 2^-150) for absolute values below 3.4e38. Raises NumericalError for larger
    ones.
    """
    found = {}
    for name, array in arrays.items():
        if array.dtype != np.float64:
            found[name] = array
            continue
        try:
            with np.errstate(over="raise", under="ignore"):
                found[name + _SINGLE] = array.astype(np.float32)
        except FloatingPointError as error:
            advice = 'set adjoint.rounding = "none"'
            raise NumericalError(f"{name} exceeds the range of single precision; {advice}") from error
    return found


def restored(arrays: Arrays) -> Arrays:
    """Return the arrays of :func:`rounded`, in double precision."""
    return {
        name.removesuffix(_SINGLE): array.astype(np.float64) if name.endswith(_SINGLE) else array
        for name, array in arrays.items()
    }


def _restart(step: int) -> str:
    return f"{_RESTART}{step}"


def _level(number: int) -> str:
    return f"{_LEVEL}{number}"


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])


def steps_expected(model: AirModel, until: float) -> int:
    """Return an estimate of the number of steps of a run, from the longest step at its beginning."""
    step = model.longest_step(min(until, model.next_change()))
    return max(1, int((until - model.seconds) / step)) if step < inf else 1


def as_arrays(snapshot: Snapshot) -> Arrays:
    """Return a snapshot as arrays; its plain values are encoded as JSON."""
    metadata = np.frombuffer(json.dumps(dict(snapshot.metadata)).encode(), np.uint8)
    tiled = {_TILED + name: array for name, array in snapshot.tiled.items()}
    return tiled | {_WHOLE + name: array for name, array in snapshot.whole.items()} | {_METADATA: metadata}


def as_snapshot(arrays: Arrays) -> Snapshot:
    """Return the snapshot of :func:`as_arrays`."""
    tiled = {name.removeprefix(_TILED): array for name, array in arrays.items() if name.startswith(_TILED)}
    whole = {name.removeprefix(_WHOLE): array for name, array in arrays.items() if name.startswith(_WHOLE)}
    return Snapshot(tiled, whole, json.loads(arrays[_METADATA].tobytes()))
