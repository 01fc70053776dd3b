"""`airshed doctor`, `airshed verify` and `airshed bench`: requirements, checks and speed on this machine."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import airshed
from airshed.cli.options import AsJson


def doctor(as_json: AsJson = False) -> None:
    """Check compiler, cores, memory, libraries and MPI, with advice; exit code 1 when a requirement is missing."""
    from airshed.cli.doctor import as_dict, as_table, collect, healthy
    from airshed.cli.render import terminal

    checks = collect()
    if as_json:
        typer.echo(json.dumps(as_dict(checks), indent=2))
    else:
        terminal().print(as_table(checks))
    if not healthy(checks):
        raise typer.Exit(1)


def verify(
    full: Annotated[bool, typer.Option("--full", help="Include the finest grids: minutes instead of seconds.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check conservation, convergence and reproducibility on this machine; exit code 1 when a check fails."""
    from rich.console import Console

    from airshed.cli.render import show
    from airshed.verify import checks

    with Console(stderr=True).status("verify") as status:
        report = checks.run(full=full, progress=lambda name: status.update(f"verify: {name}"))
    show(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)


def bench(context: typer.Context) -> None:
    """Measure speed with the benchmarks of a checkout (`python -m benchmarks`); --help lists them.

    Raises AirshedError in an installation without them.
    """
    from airshed.core.errors import AirshedError

    root = Path(airshed.__file__).resolve().parents[2]
    if not (root / "benchmarks/__main__.py").is_file():
        raise AirshedError("benchmarks are not part of an installed Airshed; clone its repository and run them there")
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "benchmarks", *context.args]
    os.execve(sys.executable, command, os.environ | {"PYTHONPATH": path})
