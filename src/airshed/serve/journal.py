"""The journal of a session: every command that was acknowledged, a line each, so that none is lost without notice.

A state holds the log up to its own time. Commands after the newest whole state are in the journal alone: a session that
is resumed from that state names them.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from airshed.core.text import counted, listed, printable
from airshed.serve import types

JOURNAL: Final = "commands.jsonl"
LOST: Final = "commands.lost.jsonl"


class Journal:
    """Lines of commands in a session's folder."""

    def __init__(self, folder: Path) -> None:
        self._path, self._lost = folder / JOURNAL, folder / LOST

    def add(self, entry: types.LogEntry) -> None:
        """Append a command; raises OSError."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{entry.model_dump_json()}\n")

    def resume(self, log: Sequence[types.LogEntry]) -> list[str]:
        """Go on after the log of a state; return what to say of commands that came after it, which LOST then holds."""
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
            f"{self._lost} holds what was commanded"
        ]

    def restart(self, log: Sequence[types.LogEntry] = ()) -> None:
        """Begin with the commands of a log."""
        self._path.unlink(missing_ok=True)
        for entry in log:
            self.add(entry)

    def _entries(self) -> list[types.LogEntry]:
        """Return the commands of whole lines; the last line may have been cut."""
        if not self._path.is_file():
            return []
        found: dict[int, types.LogEntry] = {}
        for line in self._path.read_bytes().decode("utf-8", "replace").splitlines():
            with suppress(ValueError):
                entry = types.LogEntry.model_validate_json(line)
                found[entry.number] = entry
        return list(found.values())
