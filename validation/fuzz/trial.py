"""One trial: a spoilt input in a folder of its own, what is done with it, and what is expected of the answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Call = Callable[[], dict[str, Any]]
"""An action in Python in place of a command; returns arrays by name, as results."""


@dataclass
class Trial:
    """What a mutation has made of the input, which lies in ``folder``.

    mutation   in words, as it is shown
    kind       mutations of the same kind are counted as one group of faults
    arguments  of the command `airshed`, or else ``call`` of the library
    output     folder or file of the results; None where there are none
    names      a refusal must name one of these: the file, the key or the row
    base       name of the sound input from which results must differ; "" where they need not
    told       results may stay as they are, but where they differ, words or summary must mention this; "" for nothing
    never      whether this has no sound meaning, so that it must be refused
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
    told: str = ""
    never: bool = False
    absent: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Answer:
    """How it ended: exit code, what was printed, the defect that was raised, if any, and its place in the code."""

    code: int
    stdout: str
    stderr: str
    defect: str = ""
    place: str = ""
    peak: int = 0
    arrays: dict[str, Any] | None = None


@dataclass(frozen=True)
class Verdict:
    """An outcome with the reason for it; faults with the same ``group`` have one root cause, as far as one can see."""

    outcome: str
    detail: str = ""
    group: str = ""
