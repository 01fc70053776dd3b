"""`airshed new`: a case from the files of a user."""

from pathlib import Path
from typing import Annotated

import typer


def new(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the case, which is made.")],
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILES]", help="Further files for --from, as a shell expands *.")
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", metavar="FILES", help="Weather (WRF output, ERA5), and emission or boundary files, recognised."
        ),
    ] = None,
    emissions: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="File of gridded emission; may be repeated.")
    ] = None,
    boundary: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="File of boundary concentrations; may be repeated.")
    ] = None,
    area: Annotated[
        str | None,
        typer.Option(metavar="W,E,S,N", help="Area of the case in degrees; by default that of the weather."),
    ] = None,
    spacing: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Size of a cell, such as '0.1 deg'; by default that of the weather."),
    ] = None,
) -> None:
    """Write the case file for weather, emission and boundary files, and list missing input.

    The grid, the period and the layers are those of the weather. The case runs as it is written; every line of it can
    be changed. Files are named in it by their relative paths, and not copied.

    Examples: `airshed new katrina --from wrfout_d01_*`, `airshed new home --from era5/*.nc --emissions edgar.nc`.
    """
    from dataclasses import replace

    from airshed.cli.progress import Work
    from airshed.cli.render import say, show
    from airshed.core.atomic import guarded, write_whole
    from airshed.core.errors import AirshedError, CaseError
    from airshed.models.air.case import Case
    from airshed.models.air.draft import check_case, draft_case
    from airshed.runtime.registry import case_report

    # Examine the files before anything is written.
    case_file = folder / "case.toml"
    if case_file.exists():
        raise CaseError(f"{case_file} exists; give another folder, or remove it")
    with Work("reading the files", quiet=False):
        draft = draft_case(
            folder, [*(files or ()), *(more or ())], emissions=emissions or (), boundary=boundary or (),
            area=_area(area), spacing=spacing,
        )  # fmt: skip

    # Write the case, which the user may correct if its input is refused.
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with write_whole(case_file) as part:
        part.write_text(draft.text, encoding="utf-8")
    try:
        case = Case.load(case_file)
        show(replace(case_report(case, defaults=False), tables=[]))
        with Work("checking the input", quiet=False):
            notices = check_case(case)
    except AirshedError as error:
        raise type(error)(f"{case_file} is written, but does not run yet: {error}") from None
    for name in draft.unused:
        say(f"not used  {name}: neither weather nor emission nor concentrations")
    for line in [*draft.lacking, *notices]:
        say(f"missing  {line}")
    say(f"{case_file} is written; next: airshed run {folder}")


def _area(text: str | None) -> tuple[float, float, float, float] | None:
    """Return west, east, south and north of an option; raise CaseError for other text."""
    from airshed.core.errors import CaseError

    if text is None:
        return None
    try:
        west, east, south, north = (float(each) for each in text.split(","))
    except ValueError:
        raise CaseError(f"--area {text} must be WEST,EAST,SOUTH,NORTH in degrees, such as --area 0,10,45,55") from None
    if west >= east or south >= north:
        raise CaseError(f"--area {text} must have its west below its east, and its south below its north")
    return west, east, south, north
