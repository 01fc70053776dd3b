"""`airshed plot`: pictures of a finished run."""

import typer

from airshed.cli.options import RunFolder


def plot(run: RunFolder) -> None:
    """Draw maps, an animation, time series at cities and a curtain into RUN/plots."""
    from airshed.plot import plot_run

    for picture in plot_run(run):
        typer.echo(picture)
