"""`airshed verify`: whether this installation computes what it should."""

from typing import Annotated

import typer

from airshed.cli.options import AsJson


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
