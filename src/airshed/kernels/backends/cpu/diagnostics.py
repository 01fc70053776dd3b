"""Turns a compiler's complaints about generated code into a message with the generated lines themselves.

Generated lines carry a comment with their reaction or setting: the line says what is at fault, its number does not.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ERROR: Final = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$")
_SHOWN_ERRORS: Final = 3
_SHOWN_LINES: Final = 5


def explain(complaints: str, sources: Mapping[Path, str]) -> str:
    """Return the first errors in a compiler's output, each with its source line, and where the source is kept.

    A linker's errors name no line; then the first lines of the output are given as they are.
    """
    matches = [match for match in map(_ERROR.match, complaints.splitlines()) if match]
    shown = [_with_source(match, sources) for match in matches[:_SHOWN_ERRORS]]
    if not shown:
        shown = [line for line in complaints.splitlines() if line.strip()][:_SHOWN_LINES]
    more = len(matches) - _SHOWN_ERRORS
    tail = [f"... and {more} more"] if more > 0 else []
    kept = ", ".join(str(path) for path in sources)
    return "\n".join([f"the generated code does not compile; it is kept in {kept}", *shown, *tail])


def _with_source(match: re.Match[str], sources: Mapping[Path, str]) -> str:
    number = int(match["line"])
    message = f"{Path(match['file']).name}, line {number}: {match['text']}"
    text = sources.get(Path(match["file"]))
    return message if text is None else message + "".join(f"\n    {line}" for line in commented_line(text, number))


def commented_line(text: str, number: int) -> list[str]:
    """Return a line (counted from 1) and, when it has no comment of its own, the comment line right above it."""
    lines = text.splitlines()
    if not 1 <= number <= len(lines):
        return []
    line = lines[number - 1].strip()
    above = lines[number - 2].strip() if number > 1 else ""
    return [above, line] if "//" not in line and above.startswith("//") else [line]
