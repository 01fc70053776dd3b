"""Where sessions are on disk: a folder of states for each, and beside it what it began as, so that all come back."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airshed.case.case import RunCase
from airshed.core.atomic import write_whole
from airshed.core.errors import AirshedError, DataError, OutputError
from airshed.core.files import read_text
from airshed.core.toml_text import parse_toml
from airshed.io.folder import RESTARTS
from airshed.io.run_state import STATE_FILE
from airshed.io.strategies.states import found_states
from airshed.runtime.registry import model_kind
from airshed.serve.journal import JOURNAL
from airshed.serve.keeping import with_machine_of

MAIN: Final = "main"


@dataclass(frozen=True)
class Began:
    """What a session began as: its case before anything was changed, and the session that it branched off."""

    name: str
    case: RunCase
    parent: str | None


@dataclass(frozen=True)
class SessionFolders:
    """The folder of a server; None keeps all in memory alone."""

    folder: Path | None

    def of(self, name: str) -> Path | None:
        """Return where the states of a session are."""
        return None if self.folder is None else self.folder / name

    def is_taken(self, name: str) -> bool:
        """Whether a session of this name is there, or was: its states are not written over."""
        return self.folder is not None and (self.folder / name).exists()

    def note(self, began: Began) -> None:
        """Write down what a session began as."""
        if self.folder is not None:
            case = began.case
            told = {
                "case": case.to_toml(), "name": case.name, "base": str(case.base), "allow_code": case.allow_code,
                "parent": began.parent,
            }  # fmt: skip
            with write_whole(self._file(began.name)) as part:
                part.write_text(json.dumps(told, indent=1), encoding="utf-8")

    def forget(self, name: str) -> None:
        """Let a session not come back: somebody ended it."""
        if self.folder is not None:
            self._file(name).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove what there is of a session that never began, or that somebody ended."""
        if self.folder is not None:
            self.forget(name)
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def check_place(self) -> None:
        """Raise OutputError where a run has its results in the folder: sessions beside them would be in its way."""
        if self.folder is not None and (self.folder / STATE_FILE).exists():
            raise OutputError(f"{self.folder} holds a run of its own; take another --output for the server's sessions")

    def check_new(self) -> None:
        """Raise OutputError where sessions with commands are kept, which a new server would replace."""
        kept = [] if self.folder is None else [each for each in self.folder.glob(f"*/{JOURNAL}") if each.stat().st_size]
        if kept:
            raise OutputError(
                f"{self.folder} holds sessions with commands ({kept[0].parent.name}); go on with them by --resume, "
                "take another --output, or replace them by --force"
            )

    def others(self, main: RunCase) -> Iterator[Began | str]:
        """Yield the sessions besides the main one that have a state here, or why one cannot come back.

        Code that a case brings runs if that of the main one may.
        """
        for file in [] if self.folder is None else sorted(self.folder.glob("*.json")):
            if file.stem == MAIN:
                continue
            if not found_states(file.with_suffix("") / RESTARTS):
                yield f"session {file.stem} left no state in {file.with_suffix('')}, and does not come back"
                continue
            try:
                yield _read(file, main)
            except (AirshedError, ValueError, KeyError, TypeError) as error:
                yield f"session {file.stem} cannot come back: {error}"

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{name}.json"


def _read(file: Path, main: RunCase) -> Began:
    told: dict[str, Any] = json.loads(read_text(file))
    data = with_machine_of(main, parse_toml(told["case"]))
    case = model_kind(data["model"]).case.from_dict(data, told["base"], name=told["name"])
    if told["allow_code"] and not main.allow_code:
        raise DataError("its case brings code; allow it with --allow-code")
    return Began(file.stem, case.allowing_code() if told["allow_code"] else case, told["parent"])
