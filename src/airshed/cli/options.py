"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

CasePath = Annotated[
    str, typer.Argument(metavar="CASE", help="Folder with a case.toml, such a file, or a shipped case.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help='Change a setting, such as time.step="120 s"; may be repeated.'),
]
Threads = Annotated[int | None, typer.Option(min=0, help="Threads to compute with; 0 takes all cores.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, such as runs/west-europe.")]


def settings(overrides: list[str] | None, threads: int | None) -> list[str]:
    """Return all overrides of a case; ``--threads`` is short for ``--set run.threads``."""
    return [*(overrides or []), *([] if threads is None else [f"run.threads={threads}"])]
