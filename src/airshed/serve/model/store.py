"""Sessions on disk: states with the log, a journal of commands, and the initial case of each session.

A state contains the log up to its own time. Commands after the newest complete state are in the journal alone. When a
session is resumed from that state, these commands are reported as lost.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from airshed.case.case import MACHINE, RunCase
from airshed.core.atomic import guarded, write_whole
from airshed.core.errors import AirshedError, DataError, OutputError
from airshed.core.files import read_text
from airshed.core.text import counted, listed, printable
from airshed.core.toml_text import parse_toml
from airshed.io.folder import RESTARTS, RunFolder
from airshed.io.restart import Restart, RestartStore
from airshed.io.run_state import STATE_FILE
from airshed.io.strategies.states import find_states
from airshed.parallel.communicator import Communicator
from airshed.runtime.model import Snapshot
from airshed.runtime.records import FolderUse, fitting
from airshed.runtime.registry import model_kind
from airshed.runtime.simulation import Simulation
from airshed.serve.protocol import types

STRATEGY: Final = "gather:async"
_LOG, _CASE, _SECONDS = "log", "case_text", "seconds_of_state"
_COMMAND: Final[TypeAdapter[Any]] = TypeAdapter(types.Command)
_OF_RANKS: Final = ("parallel", "run")
_MAY_DIFFER = ("title", "description", "output", *MACHINE)


class FolderStore:
    """Store of the last two states of a session in a run folder.

    The newest state may be of an earlier time than the one before it, so states are numbered instead of named by time.

    case     initial case of the session
    resumed  state to resume from, if there is one and resuming is requested
    notices  losses and changes of the resumed session
    Raises OutputError for an unusable folder, CaseError where the folder has another case. Construction and calls are
    collective over all ranks.
    """

    def __init__(self, use: FolderUse, case: RunCase, simulation: Simulation, ranks: Communicator) -> None:
        self._case, self._use, self._read = case, use, simulation.input_files
        self._run = RunFolder(
            use.path, case.to_toml(), resume=use.resume, may_differ=_MAY_DIFFER, inputs=use.inputs(case, self._read),
            ranks=ranks,
        )  # fmt: skip
        try:
            self._store = RestartStore(self._run, simulation.model.domain.held, STRATEGY)
            found = self._store.latest() if self._run.resumed else None
            self._count, self.resumed = 0, found
            with fitting(use.path):
                if found is not None:
                    own = {**found.metadata, "seconds": float(found.metadata[_SECONDS])}
                    self._count, self.resumed = int(found.seconds), replace(found, metadata=own)
                    log_of(found)
            self._run.begin_at(None if found is None else found.metadata[_SECONDS])
            self._journal = Journal(use.path) if ranks.rank == 0 else None
            self.notices = self._notices(found, resume=self._run.resumed)
        except BaseException:
            self._run.close()
            raise

    def save(self, simulation: Simulation, log: Sequence[types.LogEntry], *, wait: bool = False) -> None:
        """Store the state, with the log and the present settings; with `wait`, return when it is on disk."""
        saved: Snapshot = simulation.snapshot()
        self._run.wait()
        if not simulation.input_files <= self._read:  # a changed setting names other files
            self._read |= simulation.input_files
            self._run.note_inputs(self._use.inputs(self._case, self._read))
        self._count += 1
        metadata = {
            **saved.metadata, _LOG: [each.model_dump(mode="json") for each in log], _CASE: simulation.case.to_toml(),
            _SECONDS: simulation.seconds,
        }  # fmt: skip
        self._store.save(float(self._count), saved.tiled, saved.whole, metadata)
        if wait:
            self._run.wait()

    def _notices(self, found: Restart | None, *, resume: bool) -> list[str]:
        """Return losses and changes of the session that is resumed; a new session starts with an empty journal."""
        if self._journal is None:
            return []
        with guarded(self._run.path):
            if not resume:
                self._journal.restart()
                return []
            lost = self._journal.resume([] if found is None else log_of(found))
        damaged = [f"{message}; the state before it is resumed" for message in (() if found is None else found.skipped)]
        return [*damaged, *(f"inputs differ from now on: {each}" for each in self._run.changed), *lost]

    def note(self, entry: types.LogEntry) -> None:
        """Append a command to the journal, on rank 0."""
        if self._journal is not None:
            with guarded(self._run.path):
                self._journal.add(entry)

    @property
    def history(self) -> tuple[str, ...]:
        """Events of the session that the history attribute of its files reports."""
        return self._run.history

    def close(self) -> None:
        """Wait until all data are on disk, and unlock the folder."""
        try:
            self._run.finish(complete=False)
        finally:
            self._run.close()


def log_of(restart: Restart) -> list[types.LogEntry]:
    """Return the log that was stored with a state; raises ValueError for one that was edited."""
    log = [types.LogEntry.model_validate(each) for each in restart.metadata.get(_LOG, [])]
    for number, entry in enumerate(log):
        _COMMAND.validate_python(entry.command)
        if entry.number != number:
            raise ValueError(f"command {entry.number} of the log is at the position of command {number}")
    return log


def _with_machine_of(case: RunCase, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of another case, with the machine's settings of `case`: it may be resumed on other ranks."""
    of_now = case.to_dict()
    return {name: of_now[name] if name in _OF_RANKS and name in of_now else each for name, each in settings.items()}


def case_of(restart: Restart, case: RunCase) -> RunCase:
    """Return the case of a state: the one that was opened, with its changes."""
    text: Any = restart.metadata.get(_CASE)
    if text is None or text == case.to_toml():
        return case
    found = type(case).from_dict(_with_machine_of(case, parse_toml(text)), case.base, name=case.name)
    return found.allowing_code() if case.allow_code else found


JOURNAL: Final = "commands.jsonl"
LOST: Final = "commands.lost.jsonl"


class Journal:
    """Journal file of the commands in a session's folder."""

    def __init__(self, folder: Path) -> None:
        self._path, self._lost = folder / JOURNAL, folder / LOST

    def add(self, entry: types.LogEntry) -> None:
        """Append a command; raises OSError."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{entry.model_dump_json()}\n")

    def resume(self, log: Sequence[types.LogEntry]) -> list[str]:
        """Continue after the log of a state; return notices of later commands, which are moved to the file LOST."""
        after = [entry for entry in self._entries() if entry.number >= len(log)]
        if after:
            text = "".join(f"{entry.model_dump_json()}\n" for entry in after)
            self._lost.write_text(text, encoding="utf-8")
        self.restart(log)
        if not after:
            return []
        shown = listed([f"{each.command.get('kind')} at step {each.step} by {each.author[:40]}" for each in after], 5)
        return [
            f"lost: {counted(len(after), 'command')} after the state that is resumed ({printable(shown)}); "
            f"{self._lost} holds these commands"
        ]

    def restart(self, log: Sequence[types.LogEntry] = ()) -> None:
        """Rewrite the journal with the commands of a log."""
        self._path.unlink(missing_ok=True)
        for entry in log:
            self.add(entry)

    def _entries(self) -> list[types.LogEntry]:
        """Return the commands of complete lines; the last line may be incomplete."""
        if not self._path.is_file():
            return []
        found: dict[int, types.LogEntry] = {}
        for line in self._path.read_bytes().decode("utf-8", "replace").splitlines():
            with suppress(ValueError):
                entry = types.LogEntry.model_validate_json(line)
                found[entry.number] = entry
        return list(found.values())


MAIN: Final = "main"


@dataclass(frozen=True)
class SessionRequest:
    """Request to begin a session.

    case            its case, before any change
    parent          session from which it branched off
    scenario        name of the difference from the parent
    changes         of the case of the catalogue, which give a session without a scenario its name
    folder          of its states, if they are stored
    resume, accept  continue from the newest state in the folder; also where files have changed
    """

    session: str
    case: RunCase
    parent: str | None = None
    folder: Path | None = None
    resume: bool = False
    accept: bool = False
    scenario: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the case to other ranks as its settings: classes of a case may be created at run time."""
        document = document_of(self.case, self.parent, self.scenario)
        return _received, (self.session, document, self.folder, self.resume, self.accept)


def _received(
    session: str, document: dict[str, Any], folder: Path | None, resume: bool, accept: bool
) -> SessionRequest:
    return SessionRequest(
        session, case_from(document), document["parent"], folder, resume, accept, document["scenario"]
    )


def document_of(case: RunCase, parent: str | None = None, scenario: str = "") -> dict[str, Any]:
    """Return the initial case of a session in plain values."""
    return {
        "case": case.to_toml(), "name": case.name, "base": str(case.base), "allow_code": case.allow_code,
        "parent": parent, "scenario": scenario,
    }  # fmt: skip


def case_from(document: Mapping[str, Any], main: RunCase | None = None) -> RunCase:
    """Return the case of such a document, with the machine's settings of the main case if given."""
    data = parse_toml(document["case"])
    data = data if main is None else _with_machine_of(main, data)
    case = model_kind(data["model"]).case.from_dict(data, document["base"], name=document["name"])
    return case.allowing_code() if document["allow_code"] else case


@dataclass(frozen=True)
class SessionFolders:
    """Folders of the sessions of a server; None stores everything in memory alone."""

    folder: Path | None

    def of(self, name: str) -> Path | None:
        """Return the folder of the states of a session."""
        return None if self.folder is None else self.folder / name

    def is_taken(self, name: str) -> bool:
        """Return whether a session of this name exists or existed: its states are not overwritten."""
        return self.folder is not None and (self.folder / name).exists()

    def note(self, name: str, case: RunCase, parent: str | None, scenario: str) -> None:
        """Store the initial case of a session, its parent and its name."""
        if self.folder is not None:
            with write_whole(self._file(name)) as part:
                part.write_text(json.dumps(document_of(case, parent, scenario), indent=1), encoding="utf-8")

    def scenario_of(self, name: str) -> str:
        """Return the stored name of a session; empty without one."""
        if self.folder is None:
            return ""
        with suppress(AirshedError, ValueError, AttributeError):
            return str(json.loads(read_text(self._file(name))).get("scenario", ""))
        return ""

    def forget(self, name: str) -> None:
        """Remove the initial case of a session, so that it is not resumed."""
        if self.folder is not None:
            self._file(name).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove all files of a session that failed to begin, or that a client ended."""
        if self.folder is not None:
            self.forget(name)
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def check_place(self) -> None:
        """Raise OutputError where the folder holds results of a run, with which sessions would conflict."""
        if self.folder is not None and (self.folder / STATE_FILE).exists():
            raise OutputError(
                f"{self.folder} contains the results of a run; choose another --output for the server's sessions"
            )

    def check_new(self) -> None:
        """Raise OutputError where sessions with commands are stored, which a new server would replace."""
        journals = [] if self.folder is None else self.folder.glob(f"*/{JOURNAL}")
        stored = [journal.parent.name for journal in journals if journal.stat().st_size]
        if stored:
            raise OutputError(
                f"{self.folder} holds sessions with commands ({stored[0]}); continue them with --resume, "
                "choose another --output, or replace them with --force"
            )

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Reserve the folder during a block, so that no other server chooses it; an unused one is removed."""
        with ExitStack() as stack:
            if self.folder is not None:
                main = self.folder / MAIN
                with guarded(main):
                    main.mkdir(parents=True, exist_ok=True)
                stack.enter_context(RunFolder.locked(main))
            yield

    def others(self, main: RunCase) -> Iterator[SessionRequest | str]:
        """Yield all stored sessions except the main one, or the reason why one cannot be resumed.

        Code of their cases is allowed if that of the main case is.
        """
        for file in [] if self.folder is None else sorted(self.folder.glob("*.json")):
            if file.stem == MAIN:
                continue
            if not find_states(file.with_suffix("") / RESTARTS):
                yield f"session {file.stem} has no state in {file.with_suffix('')} and cannot be resumed"
                continue
            try:
                document: dict[str, Any] = json.loads(read_text(file))
                case = case_from(document, main)
                if document["allow_code"] and not main.allow_code:
                    raise DataError("its case brings code; allow it with --allow-code")
                yield SessionRequest(file.stem, case, document["parent"])
            except (AirshedError, ValueError, KeyError, TypeError) as error:
                yield f"session {file.stem} cannot be resumed: {error}"

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{name}.json"
