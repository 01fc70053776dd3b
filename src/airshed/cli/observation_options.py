"""Options of files of observations, which several commands have."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from airshed.evaluate.observation_files import ObservationFiles

ShownObservations = Annotated[
    list[Path] | None,
    typer.Option(
        "--observations", "-o", help="File or folder of observations to show at their stations; may be repeated."
    ),
]
Stations = Annotated[
    list[Path] | None,
    typer.Option(help="Station table (coordinates, class); may be repeated. By default stations.csv in their folder."),
]
TimeZone = Annotated[
    str | None, typer.Option(help='Zone of all times, such as "Europe/Berlin" or "UTC+01:00"; with --time-label.')
]
TimeLabel = Annotated[
    str | None, typer.Option(help="Whether times are the start or the end of the mean; with --time-zone.")
]
Averaging = Annotated[
    str | None, typer.Option(help='Averaging period of the values, such as "1 h"; by default that of the layout.')
]
Units = Annotated[
    list[str] | None, typer.Option(metavar="NAME=UNIT", help="Unit for files without units, such as O3=ug/m3.")
]


def observation_settings(
    stations: list[Path] | None, time_zone: str | None, time_label: str | None, averaging: str | None,
    unit: list[str] | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the options of files of observations as arguments of `airshed.evaluate`."""
    from airshed.core.errors import CaseError

    units = dict(each.partition("=")[::2] for each in unit or ())
    if bad := [name for name, given in units.items() if not name or not given]:
        raise CaseError(f"--unit {bad[0]!r} has no unit; write it as NAME=UNIT, such as O3=ug/m3")
    if (time_zone is None) != (time_label is None):
        raise CaseError("--time-zone and --time-label are required together; give both")
    time = {"zone": time_zone, "label": time_label} if time_zone is not None else None
    return {"stations": stations or (), "time": time, "averaging": averaging, "units": units}


def observation_files(paths: list[Path] | None, settings: dict[str, Any]) -> "ObservationFiles | None":
    """Return the files of observations with their settings; None without a path."""
    from airshed.evaluate.observation_files import ObservationFiles

    return ObservationFiles.of(paths, settings.pop("stations"), **settings) if paths else None
