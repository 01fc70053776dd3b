"""A finished run as a site: the page of the live server with the answers to its requests as files."""

import json
import shutil
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final, get_args

from airshed.core.atomic import guarded
from airshed.core.errors import CaseError, DataError, OutputError
from airshed.core.text import suggestion
from airshed.evaluate.observation_files import ObservationFiles
from airshed.serve.fields.maps import Lines, cities_of, graticule_of, lines_frame, places_frame
from airshed.serve.fields.published import Selection, Session
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.records.finished import finished_session
from airshed.serve.records.recording import selected
from airshed.serve.stations.comparison import StationComparison

_MARK: Final = '<meta name="airshed-site" content="1" />'
_HEAD: Final = "<head>"


def write_site(
    run: Path, target: Path, fields: Sequence[str] = (), *, ground_only: bool = False,
    observations: ObservationFiles | None = None,
    observer: Callable[[str, float], None] = lambda text, done: None,
) -> int:  # fmt: skip
    """Write a folder that any web server can host; return its size [bytes].

    Parameters
    ----------
    run : Path
        Folder of a finished run.
    target : Path
        Folder of the site, which must be new or empty.
    fields : sequence of str
        Fields to write; all of the output by default.
    ground_only : bool
        Whether only the lowest layer is written, without profiles and cross-sections.
    observations : ObservationFiles, optional
        Observations of stations to show.
    observer : callable
        Called with the present field and the fraction done.

    Raises
    ------
    OutputError
        For a folder without a finished run, and a target that is not empty.
    CaseError
        For a field that the output does not have.
    """
    pages = files("airshed.serve").joinpath("web")
    if not pages.joinpath("index.html").is_file():
        raise OutputError("the pages of the live server are not built; build them with: make web")
    if target.exists() and any(target.iterdir()):
        raise OutputError(f"{target} is not empty; give a new folder, or remove it")
    session = finished_session(run)
    names = _chosen(session, fields)

    # Write into a part that gets its name at the end, so that an interrupted export leaves no half site.
    part = target.with_name(f".{target.name}.part")
    with guarded(target):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for each in ("index.html", "assets"):
            source = Path(str(pages.joinpath(each)))
            (shutil.copytree if source.is_dir() else shutil.copy)(source, part / each)
        page = part / "index.html"
        page.write_text(page.read_text(encoding="utf-8").replace(_HEAD, f"{_HEAD}{_MARK}", 1), encoding="utf-8")
        (part / "data" / "sessions").mkdir(parents=True)
        sessions = f"[{session.view().model_dump_json()}]"
        (part / "data" / "sessions.json").write_text(sessions, encoding="utf-8")
        _write_documents(session, names, part / "data" / "sessions" / session.name, ground_only=ground_only)
        _write_records(session, names, part / "data" / "sessions" / session.name, observer, ground_only=ground_only)
        _write_stations(session, names, part / "data" / "sessions" / session.name, observations)
        if target.exists():
            target.rmdir()
        part.rename(target)
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def _chosen(session: Session, fields: Sequence[str]) -> list[str]:
    """Return the fields to write; raise CaseError for an unknown one."""
    for name in fields:
        if name not in session.shape.variables:
            raise CaseError(f"--fields {name}: the run has no such field; {suggestion(name, session.shape.variables)}")
    return list(fields) or list(session.shape.variables)


def _write_documents(session: Session, names: Sequence[str], folder: Path, *, ground_only: bool) -> None:
    """Write the description, the summary and the map of a session."""
    assert session.finished is not None
    info = session.finished.info
    variables = [session.shape.variables[name] for name in names]
    if ground_only:
        variables = [each.model_copy(update={"dims": each.dims[-2:], "shape": each.shape[-2:]}) for each in variables]
    info = info.model_copy(
        update={
            "variables": variables, "species": [name for name in info.species if name in names],
            "shown": [name for name in info.shown if name in names],
        }
    )  # fmt: skip
    (folder / "geography").mkdir(parents=True)
    documents = {"info": info, "summary": session.finished.summary}
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(document.model_dump_json(), encoding="utf-8")
    (folder / "log.json").write_text("[]", encoding="utf-8")
    (folder / "control.json").write_text(json.dumps({"controller": None, "yours": False}), encoding="utf-8")
    try:
        for which in get_args(Lines):
            (folder / "geography" / f"{which}.bin").write_bytes(lines_frame(session, which))
        if session.shape.grid.kind == "projected":
            (folder / "geography" / "places.bin").write_bytes(places_frame(session))
            lines = ",".join(each.model_dump_json() for each in graticule_of(session))
            (folder / "geography" / "graticule.json").write_text(f"[{lines}]", encoding="utf-8")
        cities = ",".join(each.model_dump_json() for each in cities_of(session))
        (folder / "geography" / "cities.json").write_text(f"[{cities}]", encoding="utf-8")
    except NotThereError:  # a model without a map
        return


def _write_stations(
    session: Session, names: Sequence[str], folder: Path, observations: ObservationFiles | None
) -> None:
    """Write the stations, and series and scores of the observed fields; raise DataError for unusable observations."""
    comparison = StationComparison(observations)
    found = comparison.stations(session)
    if observations is not None and found.problem is not None:
        raise DataError(found.problem)
    shown = [each for each in found.pollutants if each.name in names]
    listed = found.model_copy(update={"pollutants": shown})
    (folder / "stations.json").write_text(listed.model_dump_json(), encoding="utf-8")
    for name in [each.name for each in shown]:
        (folder / "stations").mkdir(exist_ok=True)
        for kind, document in (
            ("pairs", comparison.pairs(session, name)),
            ("scores", comparison.scores(session, name)),
        ):
            (folder / "stations" / f"{kind}.{name}.json").write_text(document.model_dump_json(), encoding="utf-8")


def _write_records(
    session: Session, names: Sequence[str], folder: Path, observer: Callable[[str, float], None], *, ground_only: bool
) -> None:
    """Write a file of frames for each field and level."""
    assert session.recorded is not None
    (folder / "recording").mkdir()
    for number, name in enumerate(names):
        observer(name, number / len(names))
        shape = session.shape.variables[name].shape
        levels = [None] if len(shape) < 3 else [0] if ground_only else list(range(shape[0]))
        for level in levels:
            chosen = Selection(level=level)
            parts = selected(session.recorded, session.shape, name, chosen, None, None)
            content = b"".join(session.recorded_frame(name, moment, values, chosen) for moment, values in parts)
            suffix = "" if level is None or ground_only else f".{level}"
            (folder / "recording" / f"{name}{suffix}.bin").write_bytes(content)
