"""Arguments and options that several commands share."""

import sys
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
Threads = Annotated[int | None, typer.Option(min=0, help="Number of threads; 0 for all cores.")]
Ranks = Annotated[
    int | None, typer.Option("--ranks", "-n", min=1, help="Number of ranks; more than one are started by mpiexec.")
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Run Python code of the mechanism or of a process in a file, with your rights.",
    ),
]
AcceptChangedInputs = Annotated[
    bool,
    typer.Option(
        "--accept-changed-inputs",
        help="With --resume: continue although input files have changed; the results record it.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, such as runs/west-europe.")]


def settings(overrides: list[str] | None, threads: int | None) -> list[str]:
    """Return all overrides of a case; ``--threads`` is short for ``--set run.threads``."""
    return [*(overrides or []), *([] if threads is None else [f"run.threads={threads}"])]


def hand_to_ranks(ranks: int | None) -> None:
    """Start the requested ranks with this command, unless this process is one of them, and exit with their code."""
    from airshed.parallel.launch import launch, must_launch

    if must_launch(ranks):
        assert ranks is not None
        raise typer.Exit(launch(ranks, [sys.executable, "-P", "-m", "airshed", *sys.argv[1:]]))
