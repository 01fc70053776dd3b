"""`airshed verify`: whether this installation computes what it should."""

import typer

from airshed.cli.options import AsJson


def verify(as_json: AsJson = False) -> None:
    """Check conservation, convergence and reproducibility on this machine; exit code 1 when a check fails."""
    from airshed.cli.render import show
    from airshed.runtime import verification

    report = verification.run()
    show(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)
