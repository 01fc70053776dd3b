"""Reads a reaction file: bytes to text, comments to blanks, text to sections."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from airshed.core.errors import MechanismError
from airshed.mechanism.kpp.parser import SECTIONS
from airshed.mechanism.kpp.statements import MisplacedError
from airshed.mechanism.location import Location, nearest

INCLUDE: Final = "INCLUDE"
LARGEST: Final = 20_000_000
"""Bytes that a reaction file may have; the largest published mechanisms have some two million."""

_COMMENT = re.compile(r"\{[^}]*\}|//[^\n]*|\{")
_COMMAND = re.compile(r"#[ \t]*(\w*)")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f]")

_GENERATOR_OPTIONS: Final = frozenset(
    {"AUTOREDUCE", "CHECK", "CHECKALL", "DECLARE", "DOUBLE", "DRIVER", "DUMMYINDEX", "EQNTAGS", "FUNCTION", "GRAPH",
     "HESSIAN", "INTEGRATOR", "INTFILE", "JACOBIAN", "LANGUAGE", "LOOKAT", "LOOKATALL", "MEX", "MINVERSION", "MONITOR",
     "REORDER", "STOCHASTIC", "STOICMAT", "TRANSPORT", "TRANSPORTALL", "UPPERCASEF90"}
)  # fmt: skip
"""Commands that tell KPP what code to write and what to print: they say nothing about the chemistry and are skipped."""


@dataclass(frozen=True)
class Section:
    """A command and where the text behind it, up to the next command, starts and ends in the file."""

    command: str
    start: int
    end: int


@dataclass(frozen=True)
class SourceFile:
    """A reaction file.

    name   what messages call it
    raw    its text, lines ended by a line feed
    """

    path: Path
    name: str
    raw: str

    @cached_property
    def text(self) -> str:
        """The text with each comment replaced by as many blanks; raises MisplacedError at an unclosed comment."""
        return _COMMENT.sub(_blank, self.raw)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.raw))]

    def location(self, offset: int) -> Location:
        """Return the line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return Location(self.name, line, offset - self._starts[line - 1] + 1)

    def remark(self, offset: int) -> str:
        """Return the text of the first comment that starts on the line of `offset` behind it, on one line."""
        line_end = self.raw.find("\n", offset)
        opening = _COMMENT.search(self.raw, offset, line_end if line_end >= 0 else len(self.raw))
        comment = _COMMENT.match(self.raw, opening.start()) if opening else None
        return " ".join(comment.group().strip("{}/").split()) if comment else ""

    def sections(self) -> tuple[Section, ...]:
        """Return the sections in order; raise MisplacedError at an unknown command or text before the first one."""
        commands = list(_COMMAND.finditer(self.text))
        head = self.text[: commands[0].start() if commands else None]
        if head.strip():
            raise MisplacedError(len(head) - len(head.lstrip()), "expected a command such as #DEFVAR or #EQUATIONS")
        ends = [command.start() for command in commands[1:]] + [len(self.text)]
        # One end too many, the text's own, where there is no command.
        sections = (self._section(command, end) for command, end in zip(commands, ends, strict=False))
        return tuple(section for section in sections if section.command not in _GENERATOR_OPTIONS)

    def _section(self, match: re.Match[str], end: int) -> Section:
        command = match.group(1).upper()
        if command == "INLINE":
            raise MisplacedError(
                match.start(), "#INLINE, code of another language, is not read: write rates as formulas"
            )
        known = [*SECTIONS, INCLUDE]
        if command not in known and command not in _GENERATOR_OPTIONS:
            hint = nearest(command, known) or f" (known are {', '.join(f'#{name}' for name in known)})"
            raise MisplacedError(match.start(), f"the command #{match.group(1)} is not known here{hint}")
        return Section(command, match.end(), end)


def read_source(path: Path, name: str) -> SourceFile:
    """Return a reaction file; raise MechanismError if it is missing, no text, or much too large.

    UTF-8 with or without a byte order mark, else Latin-1, in which old files have their comments; any line ends.
    """
    try:
        if not path.is_file():
            fault = "is not a file" if path.exists() else "there is no such file"
            raise MechanismError(f"{name}: {fault}; expected a reaction file in KPP syntax (.def, .eqn, .spc)")
        if path.stat().st_size > LARGEST:
            raise MechanismError(f"{name}: larger than {LARGEST // 1_000_000} MB, which no reaction file is")
        data = path.read_bytes()
    except OSError as error:
        raise MechanismError(f"{name}: cannot be read ({error.strerror})") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if _UNPRINTABLE.search(text):
        raise MechanismError(f"{name}: not a text file; expected a reaction file in KPP syntax (.def, .eqn, .spc)")
    return SourceFile(path, name, text.replace("\r\n", "\n").replace("\r", "\n"))


def _blank(match: re.Match[str]) -> str:
    if match.group() == "{":
        raise MisplacedError(match.start(), "this comment has no closing '}'")
    return re.sub(r"[^\n]", " ", match.group())
