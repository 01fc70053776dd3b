"""`airshed serve`: a running model for browsers and programs."""

from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airshed.cli.observation_options import (
    Averaging,
    ShownObservations,
    Stations,
    TimeLabel,
    TimeZone,
    Units,
    observation_files,
    observation_settings,
)
from airshed.cli.options import AcceptChangedInputs, AllowCode, Overrides, Ranks, Threads, hand_to_ranks, settings

if TYPE_CHECKING:
    from concurrent.futures import Future

    from airshed.case.case import RunCase
    from airshed.serve.access.tokens import Tokens
    from airshed.serve.http.server import Server


def serve(
    case: Annotated[
        str, typer.Argument(metavar="[CASE]", help="Folder with a case.toml, such a file, or a shipped case.")
    ] = "west-europe",
    overrides: Overrides = None,
    ranks: Ranks = None,
    threads: Threads = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder for the state of each session; by default runs/live/NAME.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last state in the folder; without one, begin.")
    ] = False,
    accept_changed_inputs: AcceptChangedInputs = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace sessions in the folder, also those with commands.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token for control, made if it is missing; by default it is new, except with --resume."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other than of this machine is for networks you trust.")
    ] = "127.0.0.1",
    known_as: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST[:PORT]", help="Name by which a proxy in front is called; may be repeated."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="Certificate, for TLS.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let other machines in without TLS, on the address of --host.")
    ] = False,
    observations: ShownObservations = None,
    stations: Stations = None,
    time_zone: TimeZone = None,
    time_label: TimeLabel = None,
    averaging: Averaging = None,
    unit: Units = None,
    idle: Annotated[
        float, typer.Option(min=0.0, help="Minutes without a client after which sessions end; 0 for never.")
    ] = 0.0,
    allow_code: AllowCode = False,
) -> None:
    """Run a model that a browser and programs watch and steer.

    The first line is the address that allows to steer the model; keep it secret. The second one allows to watch only.
    Ctrl-C ends the server and stores the state; --resume continues from there, with the same addresses.
    """
    hand_to_ranks(ranks)
    from airshed import load_case
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.parallel.communicator import world
    from airshed.serve.model.host import Host

    files = observation_files(observations, observation_settings(stations, time_zone, time_label, averaging, unit))
    loaded = load_case(case, settings(overrides, threads))
    loaded = loaded.allowing_code() if allow_code else loaded
    if world().rank:
        with stop_on_interrupt(lambda: None):  # requests come from rank 0
            Host(world()).follow()
        return
    from airshed.serve.access.limits import Limits
    from airshed.serve.http.server import Address, Server
    from airshed.serve.model.store import SessionFolders

    names = tuple(known_as or ())
    origins = tuple(f"{scheme}://{name}" for name in names for scheme in ("http", "https"))
    address = Address(host, port, names, origins, certificate, key, insecure)
    folder = output or _free_folder(loaded.name, resume=resume or force)
    SessionFolders(folder).check_place()
    if not (resume or force):
        SessionFolders(folder).check_new()
    tokens = _tokens(token_file, folder, resume=resume)
    server = Server(world(), address, Limits(idle=60.0 * idle), tokens, folder, files)
    use = {"resume": resume, "accept": accept_changed_inputs}
    _serve(server, loaded, use, browser=not no_browser)


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    observations: ShownObservations = None,
    stations: Stations = None,
    time_zone: TimeZone = None,
    time_label: TimeLabel = None,
    averaging: Averaging = None,
    unit: Units = None,
) -> None:
    """Show a finished run in a browser: maps, series, profiles and cross-sections of every stored hour.

    Of an assimilation with its runs, both are shown: before and after.

    The page is that of airshed serve, without a model. The first line is the address; Ctrl-C ends the server.
    """
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.render import say
    from airshed.parallel.communicator import SingleRank
    from airshed.serve.http.server import Address, Server
    from airshed.serve.records.analysis import analysis_sessions, is_assimilation
    from airshed.serve.records.finished import finished_session

    files = observation_files(observations, observation_settings(stations, time_zone, time_label, averaging, unit))
    sessions = analysis_sessions(run) if is_assimilation(run) else [finished_session(run)]
    server = Server(SingleRank(), Address(port=port), observations=files)
    for session in sessions:
        server.engine.show(session)
    with stop_on_interrupt(server.stop), server.listening(), ExitStack() as stack:
        say(server.url)
        if not no_browser:
            typer.launch(stack.enter_context(server.page()))
        server.run()


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    site: Annotated[Path, typer.Argument(metavar="SITE", help="Folder of the site, which is made.")],
    fields: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Field to write; may be repeated. By default all.")
    ] = None,
    ground: Annotated[bool, typer.Option("--ground", help="Write only the lowest layer.")] = False,
    observations: ShownObservations = None,
    stations: Stations = None,
    time_zone: TimeZone = None,
    time_label: TimeLabel = None,
    averaging: Averaging = None,
    unit: Units = None,
) -> None:
    """Write a finished run as a static site: the page of airshed view for any web server, without Airshed behind it."""
    from airshed.cli.progress import Work
    from airshed.cli.render import say
    from airshed.serve.records.site import write_site

    files = observation_files(observations, observation_settings(stations, time_zone, time_label, averaging, unit))
    with Work("reading the run", quiet=False) as work:
        size = write_site(run, site, fields or (), ground_only=ground, observations=files, observer=work.show)
    say(f"{site}: {size / 1e6:.3g} MB; look at it with: python -m http.server --bind 127.0.0.1 --directory {site}")


def _serve(server: "Server", case: "RunCase", use: dict[str, bool], *, browser: bool) -> None:
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.render import say
    from airshed.serve.model.store import SessionFolders
    from airshed.serve.protocol.errors import EndsError
    from airshed.serve.records.recorded_day import recorded_session

    recorded, main = None if use["resume"] else recorded_session(case), None
    with stop_on_interrupt(server.stop), server.listening(), ExitStack() as stack:
        if recorded is not None:  # the page opens with recorded hours; the model is set up when it is requested
            reserved = stack.enter_context(ExitStack())
            reserved.enter_context(SessionFolders(server.folder).reserved())
            server.engine.offer(case, reserved.close)
            server.engine.show(recorded)
        else:
            main = server.engine.open(case, "main", resume=use["resume"], accept=use["accept"])
            main.add_done_callback(partial(_on_opened, server))
        say(f"To steer: {server.url}\nTo watch: {server.reader_url}")
        for warning in server.address.warnings(server.port):
            say(f"airshed: warning: {warning}", err=True)
        if browser:
            typer.launch(stack.enter_context(server.page()))
        server.run()
    error = main.exception() if main is not None and main.done() else None
    if error is not None and not isinstance(error, EndsError):
        raise error


def _on_opened(server: "Server", done: "Future[Any]") -> None:
    """Print losses and changes of a resumed session; stop the server where the model cannot be set up."""
    from airshed.cli.render import say

    if done.exception():
        server.stop()
        return
    for notice in server.engine.host.sessions["main"].notices:
        say(f"airshed: {notice}", err=True)


def _tokens(token_file: Path | None, folder: Path, *, resume: bool) -> "Tokens":
    """Return the tokens of a server: those of the resumed one, or new ones; `token_file` has the one for control."""
    from airshed.serve.access.tokens import FILE, Tokens, stored_tokens

    tokens = (stored_tokens(folder / FILE) if resume else None) or Tokens(file=folder / FILE)
    if token_file is not None:
        tokens.control = _token(token_file)
    return tokens


def _token(file: Path) -> str:
    """Return the token in a file, which is made for its owner alone if it is missing."""
    from airshed.core.errors import CaseError
    from airshed.core.files import read_text
    from airshed.serve.access.tokens import new_token

    if not file.exists():
        file.touch(0o600)
        file.write_text(new_token() + "\n", encoding="utf-8")
    token = read_text(file).strip()
    if len(token) < 16 or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise CaseError(f"{file} must hold a token of 16 letters and digits or more, and nothing else")
    return token


def _free_folder(name: str, *, resume: bool) -> Path:
    """Return runs/live/NAME, with a number if another server uses it or it holds sessions with commands.

    resume  whether its sessions are resumed: then no other server may use it
    """
    from airshed.core.errors import OutputError
    from airshed.io.folder import RUNS, RunFolder
    from airshed.serve.model.store import SessionFolders

    for number in count(1):
        folder = RUNS / "live" / (name if number == 1 else f"{name}-{number}")
        if not (folder / "main").exists() or resume:
            return folder
        try:
            with RunFolder.locked(folder / "main"):
                SessionFolders(folder).check_new()
                return folder
        except OutputError:
            continue
    raise AssertionError
