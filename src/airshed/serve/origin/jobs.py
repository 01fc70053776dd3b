"""Computations of origins: one at a time in a process of its own, with cached results."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.models.air.case import Case
from airshed.runtime.registry import model_kind
from airshed.serve.model.store import document_of
from airshed.serve.protocol.origin import Origin, OriginRequest, OriginState

_RESULTS: Final = 16
"""Results that are stored in addition to those in view; the oldest ones are discarded."""

_PER_RUN: Final = 4.0
"""Time of an adjoint relative to the estimate of its forward run, until one is measured."""

_SPARE: Final = 1.5
"""Memory of a computation relative to that of its checkpoints: state, forcing and adjoints in addition."""

_LIBRARIES: Final = 0.4e9
_FORWARD: Final = 0.25
"""Part of the time that the forward run takes."""


@dataclass
class _Job:
    """A computation with its process and its folder."""

    session: str
    request: OriginRequest
    key: str
    folder: Path
    process: subprocess.Popen[str]
    expected: float | None
    begun: float = field(default_factory=time.monotonic)
    part: Any = "start"
    done: float = 0.0
    error: str = ""
    is_cancelled: bool = False


class OriginJobs:
    """Origins of all sessions of a server; a lock guards its state, because threads of requests use it."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._lock = threading.Lock()
        self._job: _Job | None = None
        self._ended: dict[str, OriginState] = {}
        self._results: OrderedDict[str, Path] = OrderedDict()
        self._shown: dict[str, Path] = {}
        self._pace = _PER_RUN
        self._count = 0

    def start(self, session: str, case: Case, request: OriginRequest) -> None:
        """Start a computation, or show the stored result of the same one; raise CaseError while another one goes on."""
        document = {"request": request.model_dump(), "case": document_of(case)}
        key = json.dumps(document, sort_keys=True)
        with self._lock:
            if self._job is not None:
                raise CaseError(f"sources are being computed for {self._job.session} already; wait, or cancel that")
            if key in self._results:
                self._results.move_to_end(key)
                self._show(session, request, self._results[key])
                return
            _check_memory(case)
            self._hide(session)
            self._job = self._begun(session, request, key, document, self.expected(case, request.at))
            threading.Thread(target=self._follow, args=(self._job,), daemon=True).start()

    def state(self, session: str) -> OriginState:
        """Return the state of the computation of a session, with the result if it is done."""
        with self._lock:
            job = self._job
            if job is None or job.session != session:
                return self._ended.get(session, OriginState(status="none"))
            return OriginState(
                status="running", request=job.request, part=job.part, done=job.done,
                elapsed=time.monotonic() - job.begun, expected=job.expected,
            )  # fmt: skip

    def cancel(self, session: str) -> None:
        """End the computation of a session, if there is one, and remove its result from view."""
        with self._lock:
            if self._job is not None and self._job.session == session:
                self._job.is_cancelled = True
                self._job.process.kill()
            else:
                self._hide(session)

    def forget(self, session: str) -> None:
        """End the computation of a session that has ended, and remove its result."""
        self.cancel(session)
        with self._lock:
            self._hide(session)

    def map_of(self, session: str, pollutant: str) -> AnyArray:
        """Return the sum of contributions of emission [mol/mol] of a pollutant, or of all with an empty name."""
        with self._lock:
            folder = self._shown.get(session)
        if folder is None:
            raise CaseError(f"no sources are computed for {session}")
        from airshed.serve.origin.worker import MAPS

        with np.load(folder / MAPS, allow_pickle=False) as maps:
            if not pollutant:
                return np.asarray(sum(maps[name] for name in maps.files), np.float32)
            if pollutant not in maps.files:
                raise CaseError(f"no emission of {pollutant!r}; {suggestion(pollutant, maps.files)}")
            return np.asarray(maps[pollutant], np.float32)

    def expected(self, case: Case, at: float) -> float | None:
        """Return the estimate of the wall time [s] of a computation up to a time."""
        found = re.match(r"about (\d+) s", str(model_kind(case.model).describe(case).facts.get("time", "")))
        spinup = case.time.spinup.value
        return self._pace * float(found[1]) * (spinup + at) / (spinup + case.time.length.value) if found else None

    def close(self) -> None:
        """End the computation, and remove all results."""
        with self._lock:
            job = self._job
            if job is not None:
                job.is_cancelled = True
                job.process.kill()
        if job is not None:
            job.process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _begun(
        self, session: str, request: OriginRequest, key: str, document: Mapping[str, Any],
        expected: float | None,
    ) -> _Job:  # fmt: skip
        """Return a job with a running process; the lock is held."""
        from airshed.serve.origin.worker import REQUEST

        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="airshed-origin-"))
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        (folder / REQUEST).write_text(json.dumps(document), encoding="utf-8")
        program = [sys.executable, "-m", "airshed.serve.origin.worker", str(folder)]
        process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        return _Job(session, request, key, folder, process, expected)

    def _follow(self, job: _Job) -> None:
        """Read the progress of a process until it ends; in a thread of its own."""
        from airshed.serve.origin.worker import RESULT

        with job.process:  # which closes its pipes at the end
            for line in job.process.stdout or ():
                try:
                    report = json.loads(line)
                    job.part, job.done = report.get("part", job.part), report.get("done", job.done)
                    job.error = report.get("error", "")
                except (ValueError, AttributeError):  # a line of a library
                    continue
        status = job.process.returncode
        with self._lock:
            self._job = None
            if status == 0 and (job.folder / RESULT).is_file():
                self._store(job)
                return
            shutil.rmtree(job.folder, ignore_errors=True)
            word = job.error or f"the computation ended with status {status}; its message is in the server's terminal"
            self._ended[job.session] = (
                OriginState(status="cancelled", request=job.request)
                if job.is_cancelled
                else OriginState(status="failed", request=job.request, message=word)
            )

    def _store(self, job: _Job) -> None:
        """Store a result and the measured pace; the lock is held."""
        elapsed = time.monotonic() - job.begun
        if job.expected:
            self._pace *= elapsed / job.expected
        self._results[job.key] = job.folder
        self._show(job.session, job.request, job.folder)
        shown = set(self._shown.values())
        for key in [key for key, folder in self._results.items() if folder not in shown][:-_RESULTS]:
            shutil.rmtree(self._results.pop(key), ignore_errors=True)

    def _hide(self, session: str) -> None:
        """Remove the result of a session from view; the lock is held."""
        self._ended.pop(session, None)
        self._shown.pop(session, None)

    def _show(self, session: str, request: OriginRequest, folder: Path) -> None:
        from airshed.serve.origin.worker import RESULT

        origin = Origin.model_validate_json((folder / RESULT).read_text(encoding="utf-8"))
        self._shown[session] = folder
        self._ended[session] = OriginState(
            status="done", request=request, done=1.0, elapsed=origin.seconds, result=origin
        )


def needed_memory(case: Case) -> float:
    """Return an estimate of the memory of a computation [bytes]."""
    checkpoints: float = case.adjoint.memory.value
    return _SPARE * checkpoints + _LIBRARIES


def _check_memory(case: Case) -> None:
    """Raise CaseError where the machine has too little free memory."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:  # a system that does not report it
        return
    needed = needed_memory(case)
    if found and 1024.0 * float(found[1]) < needed:
        raise CaseError(
            f"sources need {needed / 1e9:.1f} GB of memory, and {float(found[1]) / 1e6:.1f} GB are free: close other "
            "programs, or set adjoint.memory to less"
        )
