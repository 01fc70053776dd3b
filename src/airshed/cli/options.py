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
Threads = Annotated[int | None, typer.Option(min=0, help="Threads to compute with; 0 takes all cores.")]
Ranks = Annotated[
    int | None, typer.Option("--ranks", "-n", min=1, help="Ranks to compute on; more than one are started by mpiexec.")
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Run the Python code that the mechanism or a process in a file brings: it is code of others.",
    ),
]
AcceptChangedInputs = Annotated[
    bool,
    typer.Option(
        "--accept-changed-inputs", help="With --resume: go on although input files have changed; results say so."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, such as runs/west-europe.")]


def settings(overrides: list[str] | None, threads: int | None) -> list[str]:
    """Return all overrides of a case; ``--threads`` is short for ``--set run.threads``."""
    return [*(overrides or []), *([] if threads is None else [f"run.threads={threads}"])]


def hand_to_ranks(ranks: int | None) -> None:
    """Where several ranks are asked for, and this is none of them, let them run this very command; end with it."""
    from airshed.parallel.launch import launch, must_launch

    if must_launch(ranks):
        assert ranks is not None
        raise typer.Exit(launch(ranks, [sys.executable, "-P", "-m", "airshed", *sys.argv[1:]]))
