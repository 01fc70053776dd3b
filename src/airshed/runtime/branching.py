"""Snapshots of a simulation, and branches that continue from them."""

import logging
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, Self

from airshed.case.case import RunCase
from airshed.core.errors import CaseError
from airshed.parallel.communicator import Communicator
from airshed.parallel.failure import raising_together
from airshed.runtime.changes import Effect, check_same_state, check_settable, settable_field
from airshed.runtime.clock import Clock, ProvisionalStep, due_in
from airshed.runtime.locking import by_one_thread, closed_on_error, free_unreferenced
from airshed.runtime.model import CASE_HASH, SavedState, Snapshot
from airshed.runtime.records import PLANNED
from airshed.runtime.view import SimulationView

_LOGGER: Final = logging.getLogger("airshed")
_SILENT: Final = ContextVar("silent", default=False)
"""Whether a new simulation leaves its notices out of the log."""


class BranchableSimulation(SimulationView):
    """Simulation whose state can be saved, restored and branched."""

    notices: list[str]
    end: float
    _everybody: Communicator
    _given: tuple[tuple[Any, ...], dict[str, Any]]
    _provisional: ProvisionalStep
    _clock: Clock
    _stack: ExitStack

    def effect(self, path: str) -> Effect:
        """Return the effect of a change of a field or a setting: set in place, rebuild the model, or none as fixed."""
        if settable_field(self._model, path):
            return "in place"
        return "fixed" if self._records is not None or self.case.is_fixed(path) else "rebuild"

    def _check_changes(self, settings: Mapping[str, Any]) -> None:
        """Raise CaseError for settings that cannot change while the model runs."""
        for path, value in settings.items():
            is_field = path in self._model.fields and not isinstance(value, Mapping)
            if is_field or path.partition(".")[0] not in type(self.case).model_fields:
                check_settable(self._model, path)
            if self.case.is_fixed(path):
                raise CaseError(f"{path} cannot change while the model runs; begin a run of a case with another {path}")
            if self._records is not None:
                raise CaseError(f"{path} cannot change while output is written; make a branch, or a run without output")

    def _log_notices(self) -> None:
        """Log the notices on the root, unless they are those of the simulation that is branched."""
        if self._model.domain.is_root and not _SILENT.get():
            for notice in self.notices:
                _LOGGER.warning(notice)

    @by_one_thread
    def snapshot(self) -> Snapshot:
        """Return the state in memory, from which a run continues bitwise identically.

        Returns
        -------
        Snapshot
            State for :meth:`restore` and :meth:`branch`, with values that were set and with the planned steps. With
            several ranks all of them call this, and each has its part.

        Examples
        --------
        >>> noon = sim.snapshot()
        >>> sim.run(until="18 h")
        >>> sim.restore(noon)
        """
        with raising_together(self._everybody):
            self._check_open()
            regular = self._provisional.left
            saved = (self._model.save() if regular is None else regular).copied()
            of_run = {PLANNED: self._clock.planned, CASE_HASH: self.case.hash}
            return replace(saved, metadata={**saved.metadata, **of_run})

    @by_one_thread
    def restore(self, saved: SavedState, case: RunCase | None = None) -> None:
        """Replace the state by a snapshot, at an earlier or a later time, also after an error in a step.

        Parameters
        ----------
        saved
            Snapshot of this case, or of a case whose state consists of the same arrays.
        case
            Case to continue with, by default the present one.

        Raises
        ------
        CaseError
            If output is written, which cannot be undone, or if the state of the case has other arrays.

        Examples
        --------
        >>> sim.restore(noon)
        """
        with raising_together(self._everybody):
            if self._records is not None:
                raise CaseError(
                    "a simulation with an output folder cannot be restored; make a branch, or a simulation without one"
                )
            if self._closed:
                self._check_open()
            if case is not None and case != self.case:
                self._continue_as(self.branch(saved, case))
                return
            self._provisional.left = None
            self._model.restore(saved)
            same = saved.metadata.get(CASE_HASH, self.case.hash) == self.case.hash
            planned = saved.metadata.get(PLANNED, []) if same else []
            self._clock = Clock(self._model, due_in(self.case), self.end, planned)
            self._in_step = False

    def branch(self, saved: SavedState | None = None, case: RunCase | None = None) -> Self:
        """Return another simulation in memory that continues from a snapshot.

        Parameters
        ----------
        saved
            Snapshot to continue from, by default the present state.
        case
            Another case whose state consists of the same arrays, such as one with other emissions or another
            deposition scheme; by default the present case.

        Returns
        -------
        Simulation
            The branch. With several ranks all of them call this.

        Raises
        ------
        CaseError
            If the state of the case has other arrays.

        Examples
        --------
        >>> less = sim.branch(case=sim.case.patched({"emissions.scale.NOx": 0.5}))
        >>> less.run(until="18 h")
        """
        given, named = self._given
        simulation_class: Any = type(self)
        silent = _SILENT.set(True)
        try:
            other = simulation_class(self.case if case is None else case, *given, ranks=self._everybody, **named)
        finally:
            _SILENT.reset(silent)
        with closed_on_error(other):
            if other.case != self.case:
                check_same_state(self._model, other._model)
            other.restore(self.snapshot() if saved is None else saved)
        branch: Self = other
        return branch

    def _continue_as(self, other: Self) -> None:
        """Take over the model, the case and the time of another simulation, which is then unusable."""
        self._free()
        other._finalizer.detach()
        vars(self).update({name: each for name, each in vars(other).items() if name != "_use"})
        self._attach_finalizer()

    def _attach_finalizer(self) -> None:
        self._finalizer = weakref.finalize(
            self, free_unreferenced, self._everybody, self._stack, self._records, self._model
        )
        self._finalizer.atexit = False  # the system frees all resources at exit

    def _free(self) -> None:
        """Release threads and files, once."""
        if self._closed:
            return
        self._closed = True
        self._finalizer.detach()
        self._stack.close()
        self._model.close()
