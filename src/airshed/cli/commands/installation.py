"""`airshed doctor` and `airshed verify`: what this machine has of what Airshed needs, and what it computes with it."""

import json
from typing import Annotated

import typer

from airshed.cli.options import AsJson


def doctor(as_json: AsJson = False) -> None:
    """Say what is there (compiler, cores, libraries) and what to do about what is missing; exit code 1 then."""
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
    full: Annotated[bool, typer.Option("--full", help="Also the finest grids; minutes instead of seconds.")] = False,
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
