"""`airshed show`: the resolved case."""

from typing import Annotated

import typer

from airshed.cli.options import CasePath, Overrides, Threads, settings


def show(
    case: CasePath,
    overrides: Overrides = None,
    threads: Threads = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the resolved case as a case file.")] = False,
) -> None:
    """Show every setting of a case with where its value comes from, and what a run will take."""
    from airshed import load_case
    from airshed.cli.estimate import case_report
    from airshed.cli.render import say
    from airshed.cli.render import show as show_report

    loaded = load_case(case, settings(overrides, threads))
    if toml:
        say(loaded.to_toml(), end="")
    else:
        show_report(case_report(loaded))
