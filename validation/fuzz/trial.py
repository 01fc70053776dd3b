"""A trial: a spoiled input in its folder, its use, and the expected response."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Call = Callable[[], dict[str, Any]]
"""An action in Python instead of a command; returns arrays by name, as results."""


@dataclass
class Trial:
    """Result of a mutation of the input in ``folder``.

    mutation   description for the report
    kind       mutations of the same kind count as one group of faults
    arguments  of the command `airshed`, or else ``call`` of the library
    output     folder or file of the results; None where there are none
    names      a refusal must name one of these: the file, the key or the row
    base       name of the sound input from which results must differ; "" where they need not
    mentions   where results differ, the output or summary must mention this; "" for nothing
    never      whether the input is invalid and must be refused
    absent     files that exist only if the input has run code
    """

    folder: Path
    mutation: str
    kind: str
    arguments: list[str] = field(default_factory=list)
    call: Call | None = None
    output: Path | None = None
    names: tuple[str, ...] = ()
    base: str = ""
    mentions: str = ""
    never: bool = False
    absent: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Answer:
    """Response: exit code, output, the raised defect if any, and its place in the code."""

    code: int
    stdout: str
    stderr: str
    defect: str = ""
    place: str = ""
    peak: int = 0
    arrays: dict[str, Any] | None = None


@dataclass(frozen=True)
class Verdict:
    """An outcome with its reason; faults with the same ``group`` probably have the same cause."""

    outcome: str
    detail: str = ""
    group: str = ""
