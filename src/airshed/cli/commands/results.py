"""`airshed plot`, `airshed merge` and `airshed evaluate`: pictures, single files and statistics of finished runs."""

from pathlib import Path
from typing import Annotated

import typer

from airshed.cli.observation_options import Averaging, Stations, TimeLabel, TimeZone, Units, observation_settings
from airshed.cli.options import AsJson, RunFolder


def plot(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs, such as runs/west-europe.")
    ],
    difference: Annotated[
        bool, typer.Option("--difference", help="Draw the second of two runs minus the first.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Folder for the pictures; by default RUN/maps.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Field to draw, such as O3; may be repeated. By default the main ones, such as O3 and NO2."),
    ] = None,
    hour: Annotated[
        list[float] | None,
        typer.Option(
            help="Hour of the day [UTC] to map; may be repeated. By default 3, 9, 15, 21; of daily results four days."
        ),
    ] = None,
    latitude: Annotated[
        float | None, typer.Option(help="Latitude of the curtains; by default through the most people, or a plume.")
    ] = None,
    animation: Annotated[bool, typer.Option(help="Also animate the first field.")] = True,
    singles: Annotated[bool, typer.Option("--singles", help="Also draw each hour in a picture of its own.")] = False,
    kind: Annotated[str, typer.Option("--format", help="Format of the pictures: png, svg or pdf.")] = "png",
    observations: Annotated[
        list[Path] | None,
        typer.Option("--observations", "-o", help="File or folder of observations to show as dots; may be repeated."),
    ] = None,
    stations: Stations = None,
    time_zone: TimeZone = None,
    time_label: TimeLabel = None,
    averaging: Averaging = None,
    unit: Units = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and the names of pictures.")] = False,
) -> None:
    """Draw maps, an animation, time series and a curtain of runs into RUN/maps, or the difference of two runs.

    With --observations maps show the values of stations as dots; the options of their files are those of evaluate.
    """
    from airshed.cli.progress import Work
    from airshed.core.errors import CaseError

    settings = observation_settings(stations, time_zone, time_label, averaging, unit)
    runs, files = _runs_and_files(runs, observations)
    if difference and len(runs) != 2:
        raise CaseError(f"--difference needs two runs, got {len(runs)}: airshed plot --difference RUN1 RUN2")
    if output is not None and len(runs) > 1 and not difference:
        raise CaseError("--output is for the pictures of one run; leave it out, or plot the runs one by one")
    if difference and files:
        raise CaseError("a difference of runs cannot show observations; leave out --observations or --difference")

    with Work("reading the run", quiet=quiet) as work:
        from airshed.evaluate.evaluation import evaluate as compare
        from airshed.plot import plot_run

        reference, drawn = (runs[0], runs[1:]) if difference else (None, runs)
        for run in drawn:
            found = compare(run, files, **settings) if files else None
            pictures = plot_run(
                run, output, field, hour, animation=animation, singles=singles, latitude=latitude,
                reference=reference, observations=found, kind=kind, on_progress=work.show,
            )  # fmt: skip
            for picture in pictures:
                typer.echo(picture)


def _runs_and_files(runs: list[Path], observations: list[Path] | None) -> tuple[list[Path], list[Path]]:
    """Return the runs, and all files of observations: a shell expands `--observations *.csv` to several arguments."""
    from airshed.core.errors import CaseError
    from airshed.evaluate.observation_files import is_text_file

    files = [path for path in runs if is_text_file(path)]
    if files and len(files) == len(runs):
        raise CaseError("there is no run, only files of observations; give a run before --observations")
    return [path for path in runs if path not in files], [*(observations or ()), *files]


def merge(
    run: RunFolder,
    name: Annotated[str | None, typer.Option(help="One result of the run; all of them without it.")] = None,
) -> None:
    """Merge a result in many files (`files`, `zarr`) into one netCDF file, and remove the many."""
    from airshed.io.results import merge as merge_results

    made = merge_results(run, name)
    for path in made:
        typer.echo(str(path))
    if not made:
        typer.echo(f"airshed: each result in {run} is one file already", err=True)


Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Folders or output files of finished runs, or a sweep; several runs are compared.",
    ),
]


def evaluate(
    runs: Runs,
    observations: Annotated[
        list[Path],
        typer.Option("--observations", "-o", help="File or folder of observations; may be repeated."),
    ],
    stations: Stations = None,
    time_zone: TimeZone = None,
    time_label: TimeLabel = None,
    averaging: Averaging = None,
    unit: Units = None,
    output: Annotated[Path | None, typer.Option(help="Folder for the results; by default RUN/evaluation.")] = None,
    species: Annotated[
        list[str] | None, typer.Option(help="Species to compare, such as O3; may be repeated. By default all.")
    ] = None,
    place: Annotated[
        str, typer.Option(help="bilinear: between the centres of cells; cell: the cell that contains the station.")
    ] = "bilinear",
    traffic: Annotated[
        bool, typer.Option("--include-traffic", help="Score traffic stations, too; by default they are only shown.")
    ] = False,
    pictures: Annotated[bool, typer.Option(help="Draw figures and write evaluation.html.")] = True,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Compare finished runs with station observations: statistics, pairs, figures and a page.

    Results go to RUN/evaluation: evaluation.html, statistics.csv, statistics.json, report.txt, pairs and figures.
    """
    from airshed.cli.progress import Activity
    from airshed.cli.render import say, show
    from airshed.evaluate.evaluation import evaluate as compare
    from airshed.evaluate.folder import check_folder, default_folder, replaced_folder, write_tables

    settings = observation_settings(stations, time_zone, time_label, averaging, unit)
    runs, files = _runs_and_files(runs, observations)
    folder = output or default_folder(runs[0])
    check_folder(folder)
    with Activity(quiet=quiet) as activity:
        found = compare(
            runs,
            files,
            **settings,
            species=tuple(species or ()),
            placement=place,
            traffic=traffic,
            on_progress=activity.show,
        )
        with replaced_folder(folder) as part:
            drawn = pictures and bool(found.maps)  # not of the many members of a sweep
            if drawn:
                from airshed.plot.evaluation import write_evaluation

                write_evaluation(found, part, activity.show)
            else:
                write_tables(found, part)
    if not quiet:
        show(found.report(), as_json=as_json)
        if not as_json:
            say(f"Results: {folder}" + (f"   Page: {folder / 'evaluation.html'}" if drawn else ""))
