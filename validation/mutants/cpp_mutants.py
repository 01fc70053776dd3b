"""Mutants of C++ headers and templates: one changed operator, number or call in a line of code."""

import re
from pathlib import Path

from validation.mutants.python_mutants import Mutant

CHANGES = (
    (r"(?<=[\w)\]]) \+ (?=[\w(])", " - "), (r"(?<=[\w)\]]) - (?=[\w(])", " + "), (r"(?<=[\w)\]]) \* (?=[\w(])", " / "),
    (r"(?<=[\w)\]]) / (?=[\w(])", " * "), (r" < (?=[\w(])", " <= "), (r" <= ", " < "), (r" > (?=[\w(])", " >= "),
    (r" == ", " != "), (r" \+= ", " -= "), (r"\b0\.5\b", "0.6"), (r"\b1\.5\b", "1.6"), (r"\b2\.0\b", "2.1"),
    (r"\bmaximum\(", "minimum("), (r"\bminimum\(", "maximum("), (r" && ", " || "),
    (r"\+ 1\b", "+ 2"), (r"- 1\b", "- 2"),
)  # fmt: skip
"""Patterns and their replacements."""

_NO_CODE = re.compile(r"^\s*(//|\*|/\*|#|\{%|\{#|template|using|static_assert|for \(.*\{%)")


def cpp_mutants(root: Path, path: Path) -> list[Mutant]:
    """Return the mutants of the code lines of a header or template, without comments and template control."""
    found, offset = [], 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        code = line.partition("//")[0]
        for pattern, new in CHANGES if not _NO_CODE.match(line) else ():
            for match in re.finditer(pattern, code):
                start = offset + match.start()
                found.append(Mutant(str(path.relative_to(root)), number, start, start + len(match[0]), match[0], new))
        offset += len(line)
    return found
