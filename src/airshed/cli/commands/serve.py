"""`airshed serve`: a running model for browsers and programs."""

from typing import Annotated

import typer

from airshed.cli.options import Overrides, Ranks, Threads, hand_to_ranks, settings


def serve(
    case: Annotated[
        str, typer.Argument(metavar="[CASE]", help="Folder with a case.toml, such a file, or a shipped case.")
    ] = "west-europe",
    overrides: Overrides = None,
    ranks: Ranks = None,
    threads: Threads = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's are for networks you trust.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
) -> None:
    """Let a model run, where a browser and programs watch and steer it.

    The first line is the address. Who has it may steer: keep it to yourself. Ctrl-C ends all.
    """
    hand_to_ranks(ranks)
    from airshed import load_case
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.render import say
    from airshed.parallel.communicator import world
    from airshed.serve.host import Host
    from airshed.serve.server import Address, Server

    loaded = load_case(case, settings(overrides, threads))
    if world().rank:
        with stop_on_interrupt(lambda: None):  # rank 0 tells
            Host(world()).follow()
        return
    server = Server(world(), Address(host, port))
    with server.listening():
        say(server.url)
        main = server.engine.open(loaded, "main")
        main.add_done_callback(lambda done: server.stop() if done.exception() else None)
        if not no_browser:
            typer.launch(server.url)
        with stop_on_interrupt(server.stop):
            server.run()
    error = main.exception() if main.done() else None
    if error is not None:
        raise error
