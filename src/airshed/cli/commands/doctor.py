"""`airshed doctor`: what this machine has of what Airshed needs."""

import json

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
