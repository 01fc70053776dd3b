"""The server: HTTP in a worker thread, the models in the thread that calls :meth:`Server.run`."""

import asyncio
import os
import shutil
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from socket import gethostname
from typing import Final

import uvicorn

from airshed.core.errors import CaseError, OutputError
from airshed.core.files import read_text
from airshed.evaluate.observation_files import ObservationFiles
from airshed.parallel.communicator import Communicator
from airshed.serve.access.gate import Gate, Guard
from airshed.serve.access.limits import Limits
from airshed.serve.access.tokens import Tokens
from airshed.serve.access.waiting import AccessRequests
from airshed.serve.http.api import add_pages, application
from airshed.serve.http.connections import bounded
from airshed.serve.http.live import Hub
from airshed.serve.model.engine import Engine
from airshed.serve.model.host import Host
from airshed.serve.model.requests import Requests
from airshed.serve.model.store import MAIN
from airshed.serve.protocol import messages
from airshed.serve.protocol.types import Problem

_REDIRECT: Final = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Airshed live</title>
<meta http-equiv="refresh" content="0; url={url}"></head>
<body><a href="{url}">Airshed live</a></body></html>
"""


@dataclass(frozen=True)
class Address:
    """Network address and host names of a server.

    port     0 for any free port
    names    host names, with ports, of a proxy in front of the server;  origins: of the proxy's pages
    certificate, key   files for TLS
    insecure           allows other machines without TLS: the token could be read on the network
    """

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    insecure: bool = False

    @property
    def is_here(self) -> bool:
        """Return whether the address can be reached from this machine alone."""
        try:
            found = {each[4][0] for each in socket.getaddrinfo(self.host, None)}
        except (OSError, UnicodeError):
            return False
        return all(ip_address(str(each).partition("%")[0]).is_loopback for each in found)

    @property
    def is_anywhere(self) -> bool:
        """Return whether the server listens on all addresses of this machine."""
        return self.host in ("0.0.0.0", "::")

    @property
    def url_host(self) -> str:
        """Host part of a URL that works on this machine."""
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"[{here}]" if ":" in here else here

    def check(self) -> None:
        """Raise CaseError for a missing host, and for one that other machines reach without TLS unless `insecure`."""
        if not self.host.strip():
            raise CaseError('--host "" would listen on all addresses; omit it to serve this machine alone')
        if not (self.is_here or self.certificate or self.insecure):
            raise CaseError(
                f"--host {self.host} makes the server reachable from other machines, and the token readable on the "
                "network: give --certificate for TLS, or --insecure in a network you trust"
            )

    def warnings(self, port: int) -> list[str]:
        """Return warnings for an address that other machines reach."""
        if self.is_here:
            return []
        plain = "the token is sent over the network in clear text (--insecure)"
        names = f"requests from other machines need a host name of --known-as, as --known-as {gethostname()}:{port}"
        return ([] if self.certificate else [plain]) + ([names] if self.is_anywhere and not self.names else [])


@dataclass
class Server:
    """A server of sessions, on rank 0.

    tokens  secrets of the clients; random unless given
    folder  of the states of sessions, with a subfolder for each; None stores them in memory alone
    observations  of stations, for all sessions; by default each has those of its case
    """

    ranks: Communicator
    address: Address = field(default_factory=Address)
    limits: Limits = field(default_factory=Limits)
    tokens: Tokens = field(default_factory=Tokens)
    folder: Path | None = None
    observations: ObservationFiles | None = None

    def __post_init__(self) -> None:
        self.address.check()
        _check_certificate(self.address)
        self.engine = Engine(Host(self.ranks), self.limits, self.folder)
        self._socket = _listening(self.address)
        self.port: int = self._socket.getsockname()[1]
        own = f"{self.address.url_host}:{self.port}"
        pages = [f"{scheme}://{own}" for scheme in ("http", "https")]
        names, origins = (*self.address.names, own), (*self.address.origins, *pages)
        gate = Gate.of(self.tokens, self.port, self.limits, names, origins)
        access_requests = AccessRequests(self.tokens)
        self._requests = Requests(self.engine)
        self._hub = Hub(self._requests, gate, access_requests)
        access_requests.on_change = self._hub.publish_waiting
        app = application(self._requests, access_requests, self.observations)
        self._hub.add_to(app)
        add_pages(app)
        self.engine.on_event = self._on_event
        config = uvicorn.Config(
            Guard(app, gate), log_level="error", access_log=False, lifespan="off", server_header=False,
            http=bounded(self.limits), ws="websockets-sansio", ws_max_size=self.limits.message_bytes,
            ws_per_message_deflate=False, timeout_graceful_shutdown=1, proxy_headers=False,
            ssl_certfile=self.address.certificate, ssl_keyfile=self.address.key,
        )  # fmt: skip
        self._uvicorn = uvicorn.Server(config)

    @property
    def token(self) -> str:
        """The token that allows control."""
        return self.tokens.control

    @property
    def url(self) -> str:
        """Address for a browser, with the token in its fragment, which browsers never send to a server."""
        return self._url_with(self.tokens.control)

    @property
    def reader_url(self) -> str:
        """Address for readers, who see everything and change nothing."""
        return self._url_with(self.tokens.watch)

    def _url_with(self, token: str) -> str:
        scheme = "https" if self.address.certificate else "http"
        return f"{scheme}://{self.address.url_host}:{self.port}/#token={token}"

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Serve requests in a worker thread for the duration of the block."""
        thread = threading.Thread(target=self._serve, name="airshed-http", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._uvicorn.should_exit = True
            thread.join(3.0)
            self._socket.close()

    @contextmanager
    def page(self) -> Iterator[str]:
        """Write a page that redirects to the address, for its owner alone; yield its path, and remove it at the end.

        A browser is started with that path, because every user of a machine can read the arguments of all programs.
        """
        parent = self.folder if self.folder and self.folder.is_dir() else None
        folder = Path(tempfile.mkdtemp(prefix="airshed-", dir=parent))
        try:
            path = folder / "open.html"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(_REDIRECT.format(url=self.url))
            yield str(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def run(self) -> None:
        """Execute requests until :meth:`stop`; the models belong to the calling thread."""
        try:
            self.engine.run()
        finally:
            self._requests.origins.close()

    def stop(self) -> None:
        """End :meth:`run` after the present step; callable from a signal handler."""
        self.engine.stop()

    def _on_event(self, event: messages.Event) -> None:
        """Publish an event; store the tokens when the first session has its folder; end the origins of a closed one."""
        self._hub.on_event(event)
        if event.event == "closed" and event.session is not None:
            self._requests.origins.forget(event.session)
        if event.event == "opened" and event.session == MAIN:
            try:
                self.tokens.store()
            except OutputError as error:
                problem = Problem(error="OutputError", message=f"the tokens were not stored for --resume: {error}")
                self._hub.on_event(messages.Event(event="problem", session=MAIN, problem=problem))

    def _serve(self) -> None:
        async def serve() -> None:
            self._hub.loop = asyncio.get_running_loop()
            watching = asyncio.create_task(self._hub.watch_control())
            await self._uvicorn.serve([self._socket])
            watching.cancel()

        asyncio.run(serve())


def _check_certificate(address: Address) -> None:
    """Raise CaseError for invalid TLS files, before the server starts."""
    if address.certificate is None:
        if address.key is not None:
            raise CaseError(f"--key {address.key} needs a certificate; give --certificate too")
        return
    for file in filter(None, (address.certificate, address.key)):
        read_text(file)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(address.certificate, address.key, password="")
    except (ssl.SSLError, ValueError) as error:
        files = " and ".join(str(each) for each in (address.certificate, address.key) if each is not None)
        reason = getattr(error, "reason", None) or error
        raise CaseError(
            f"{files}: no certificate with its private key ({reason}); give both in PEM, the key without a password"
        ) from None


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only for sockets of this protocol; without it each response would wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CaseError(
            f"cannot listen on {address.host}:{address.port} ({error.strerror}); choose another --port"
        ) from None
    return listening
