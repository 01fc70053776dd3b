"""Text of a reaction file: decoding, blanking of comments and foreign code, and division into sections."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from airshed.core.errors import MechanismError
from airshed.core.files import note_input
from airshed.core.text import printable
from airshed.mechanism.kpp.parser import SECTIONS, short
from airshed.mechanism.kpp.statements import MisplacedError
from airshed.mechanism.kpp.sums import REMARK, CodeSum, sums_of
from airshed.mechanism.location import Location, nearest

INCLUDE: Final = "INCLUDE"
MODEL: Final = "MODEL"
LARGEST: Final = 20_000_000
"""Limit of the bytes of a reaction file; the largest published mechanisms have some two million."""

# Text outside of sections; the leftmost alternative that matches is used: a brace in inlined code opens no comment, a
# command in a comment is none, and quoted names are unchanged.
_ASIDE = re.compile(
    r"(?P<quoted>\"[^\"\n]*\")|(?P<comment>\{[^}]*\}|//[^\n]*|^[ \t]*#[ \t]*$)|(?P<open>\{[^}]*)"
    r"|(?P<inline>^[ \t]*#[ \t]*INLINE\b[ \t]*(?P<kind>\w*)[^\n]*\n(?P<code>(?:(?![ \t]*#[ \t]*ENDINLINE\b)[^\n]*\n)*)"
    r"[ \t]*#[ \t]*ENDINLINE\b[^\n]*)|(?P<openinline>^[ \t]*#[ \t]*INLINE\b)",
    re.IGNORECASE | re.MULTILINE,
)
_WITHIN = re.compile(rf"^[ \t]*#[ \t]*({'|'.join([*SECTIONS, 'INLINE'])})\b", re.IGNORECASE | re.MULTILINE)
_SLIP = re.compile(r"^[ \t]*#[ \t]*(END\w*|\w*INLINE\w*)", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"\{[^}]*(?:\}|\Z)|//[^\n]*")
_COMMAND = re.compile(r"\"[^\"\n]*\"|#[ \t]*(\w*)")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f]")
_DEFINED = re.compile(  # k_x = ..., j(1) = ..., function k_x(...), approximately in Fortran, C and Matlab
    r"(?:^|::|;)[ \t]*(?:(?:const|static|double|float|real|int)[ \t]+)*"
    r"([A-Za-z]\w*)[ \t]*(?:\([^()\n]*\)[ \t]*)?=(?!=)"
    r"|\bfunction[ \t]+(?:\w+[ \t]*=[ \t]*)?([A-Za-z]\w*)",
    re.MULTILINE | re.IGNORECASE,
)

_CONCENTRATION = re.compile(r"\b(?:C|VAR|FIX)[ \t]*[(\[][ \t]*indf?_(\w+)[ \t]*[)\]][ \t]*=(?!=)", re.IGNORECASE)
_FUNCTIONS = re.compile(r"_(RATES|UTIL)$", re.IGNORECASE)
_DECLARED = re.compile(r"::([^\n!]*)")
_USE = re.compile(r"^[ \t]*USE\b", re.MULTILINE | re.IGNORECASE)

_LINES: Final = frozenset(
    {"AUTOREDUCE", "CHECKALL", "DECLARE", "DOUBLE", "DRIVER", "DUMMYINDEX", "EQNTAGS", "FUNCTION", "GRAPH", "HESSIAN",
     "INTEGRATOR", "INTFILE", "JACOBIAN", "LANGUAGE", "LOOKATALL", "MEX", "MINVERSION", "REORDER", "STOCHASTIC",
     "STOCHMAT", "STOICHMAT", "STOICMAT", "TRANSPORTALL", "UPPERCASEF90",
     "WRFCONFORM", "XGRID", "YGRID", "ZGRID"}
)  # fmt: skip
"""One-line commands for KPP's code generation: without effect on the chemistry, and skipped."""

_LISTS: Final = frozenset({"FAMILIES", "LUMP", "WRITE_ATM", "WRITE_MAT", "WRITE_OPT", "WRITE_SPC", "USE", "USES"})
"""Sections for other functions of KPP, skipped as well."""


@dataclass(frozen=True)
class Section:
    """Command, and the start and end in the file of the text behind it, up to the next command."""

    command: str
    start: int
    end: int


@dataclass(frozen=True)
class SourceFile:
    """A reaction file.

    name   its name in messages
    raw    its text, lines ended by a line feed
    """

    path: Path
    name: str
    raw: str

    @cached_property
    def text(self) -> str:
        """Text with each comment and inlined code replaced by as many blanks; raises MisplacedError."""
        return _ASIDE.sub(_blank, self.raw)

    @cached_property
    def blocks(self) -> tuple[tuple[str, int, str], ...]:
        """Pieces of inlined code: their purpose, as F90_RCONST, their offset, and their text."""
        found = (match for match in _ASIDE.finditer(self.raw) if match["inline"])
        return tuple(((match["kind"] or ""), match.start(), match["code"]) for match in found)

    @cached_property
    def _codes(self) -> tuple[str, ...]:
        """Pieces of inlined code, without remarks."""
        return tuple(REMARK.sub("", code) for _, _, code in self.blocks)

    @cached_property
    def assignments_in_code(self) -> tuple[str, ...]:
        """Names, their case folded, of values and functions, repeated for each assignment in inlined code."""
        found = ((match[1] or match[2]).casefold() for code in self._codes for match in _DEFINED.finditer(code))
        return tuple(found)

    @cached_property
    def defined_in_code(self) -> frozenset[str]:
        """Names, their case folded, of values and functions that inlined code defines, without KPP's concentrations."""
        return frozenset(self.assignments_in_code) - {"c", "var", "fix"}

    @cached_property
    def values_in_code(self) -> frozenset[str]:
        """Names, their case folded, that code of a model assigns outside its functions (F90_RATES, F90_UTIL)."""
        codes = (REMARK.sub("", code) for kind, _, code in self.blocks if not _FUNCTIONS.search(kind))
        return frozenset(match[1].casefold() for code in codes for match in _DEFINED.finditer(code) if match[1])

    @cached_property
    def concentrations_in_code(self) -> frozenset[str]:
        """Species, their case folded, whose concentration inlined code sets, as in ``C(ind_CH4) = 4e13``."""
        return frozenset(match[1].casefold() for code in self._codes for match in _CONCENTRATION.finditer(code))

    @cached_property
    def given_by_code(self) -> frozenset[str]:
        """Names, their case folded, that inlined code defines or declares, as in ``REAL(dp) :: M, H2O``."""
        declared = [each for code in self._codes for match in _DECLARED.finditer(code) for each in match[1].split(",")]
        return self.defined_in_code | {each.partition("=")[0].strip().casefold() for each in declared}

    @cached_property
    def imports(self) -> bool:
        """True if inlined code uses modules, which may define any name."""
        return any(map(_USE.search, self._codes))

    @cached_property
    def sums_in_code(self) -> dict[str, CodeSum]:
        """Values that inlined code computes from concentrations, by name with the case folded."""
        return {key: each for code in self._codes for key, each in sums_of(code).items()}

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
        """Return the sections in order; raise MisplacedError at an unknown command or text outside a section."""
        commands = [match for match in _COMMAND.finditer(self.text) if match[1] is not None]
        head = self.text[: commands[0].start() if commands else None]
        if head.strip():
            raise MisplacedError(len(head) - len(head.lstrip()), "expected a command such as #DEFVAR or #EQUATIONS")
        ends = [command.start() for command in commands[1:]] + [len(self.text)]
        # Without a command, the last end is that of the text.
        sections = [self._section(command, end) for command, end in zip(commands, ends, strict=False)]
        return tuple(section for section in sections if section.command not in _LINES | _LISTS)

    def argument(self, section: Section) -> str:
        """Return the rest of a command's line; raise MisplacedError if text follows on later lines."""
        line, _, rest = self.text[section.start : section.end].partition("\n")
        if rest.strip():
            after = section.end - len(rest.lstrip())
            message = f"expected a command such as #DEFVAR or #EQUATIONS after the line of #{section.command}"
            raise MisplacedError(after, message)
        return line.strip().strip("\"'")

    def _section(self, match: re.Match[str], end: int) -> Section:
        command = match.group(1).upper()
        known = [*SECTIONS, INCLUDE, MODEL]
        if command == "ENDINLINE":
            raise MisplacedError(match.start(), "this #ENDINLINE has no #INLINE before it")
        if command not in known and command not in _LINES | _LISTS:
            hint = nearest(command, known) or f" (known are {', '.join(f'#{name}' for name in known)})"
            raise MisplacedError(match.start(), f"the command #{short(match.group(1))} is not known here{hint}")
        section = Section(command, match.end(), end)
        if command in _LINES:
            self.argument(section)
        return section


def read_source(path: Path, name: str) -> SourceFile:
    """Return a reaction file; raise MechanismError if it is missing, not text, or much too large.

    The encoding is UTF-8 with or without a byte order mark, else Latin-1, as in comments of old files; any line ends.
    """
    where = printable(name)
    try:
        if not path.is_file():
            fault = "is not a file" if path.exists() else "there is no such file"
            raise MechanismError(f"{where}: {fault}; expected a reaction file in KPP syntax (.def, .eqn, .spc)")
        if path.stat().st_size > LARGEST:
            raise MechanismError(f"{where}: larger than {LARGEST // 1_000_000} MB, which no reaction file is")
        data = note_input(path).read_bytes()
    except OSError as error:
        raise MechanismError(f"{where}: cannot be read ({error.strerror})") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if _UNPRINTABLE.search(text):
        raise MechanismError(f"{where}: not a text file; expected a reaction file in KPP syntax (.def, .eqn, .spc)")
    return SourceFile(path, name, text.replace("\r\n", "\n").replace("\r", "\n"))


def _check_inlined(match: re.Match[str]) -> None:
    """Raise MisplacedError for inlined code without an end, or with a section before its end."""
    text = match.string
    start = match.start("code") if match["inline"] else match.end()
    end = match.end("code") if match["inline"] else len(text)
    section = _WITHIN.search(text, start, end)
    if section is None and match["inline"]:
        return
    line = text.count("\n", 0, match.start()) + 1
    before = ""
    if section is not None:
        before = f" before the #{section[1].upper()} of line {text.count(chr(10), 0, section.start(1)) + 1}"
    slip = _SLIP.search(text, start, section.start() if section is not None else end)
    hint = f"; is {slip[0].strip()} in line {text.count(chr(10), 0, slip.start(1)) + 1} meant so?" if slip else ""
    raise MisplacedError(match.start(), f"the #INLINE of line {line} has no #ENDINLINE{before}{hint}")


def _blank(match: re.Match[str]) -> str:
    if match["quoted"]:
        return match.group()
    if match["open"]:
        raise MisplacedError(match.start(), "this comment has no closing '}'")
    if match["inline"] or match["openinline"]:
        _check_inlined(match)
    return re.sub(r"[^\n]", " ", match.group())
