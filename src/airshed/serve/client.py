"""Python client of a live model: `airshed.connect(url)`, with the method names of a Simulation."""

import http.client
import json
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import SplitResult, parse_qs, quote, urlencode, urlsplit

import numpy as np
from pydantic import ValidationError

from airshed.core.errors import AirshedError, CaseError
from airshed.serve.protocol import types
from airshed.serve.protocol.effect import Effect
from airshed.serve.protocol.frames import Frame, frames

if TYPE_CHECKING:
    import xarray as xr

    from airshed.serve.origin.remote import Sources


_SILENT: Final = 20.0
"""Seconds without a request after which the connection is renewed; the server closes it after a minute."""

_AGAIN: Final = 0.1
"""Seconds between requests to a server whose model is being set up."""


class ServerError(AirshedError):
    """The server refuses a request, cannot be reached, or has ended; `status` is the HTTP status, 0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def _address(url: str) -> tuple[SplitResult, str, list[str]]:
    """Return the parts of an address, its host and its tokens; raises CaseError for an invalid one."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:  # the port is not a number, or the brackets contain no address
        known = False
    tokens = parse_qs(parts.fragment).get("token", []) if known else []
    if not tokens or not (tokens[0].isascii() and tokens[0].isprintable()):
        raise CaseError("give the address that airshed serve printed, http://127.0.0.1:PORT/#token=...")
    return parts, parts.hostname or "", tokens


class Remote:
    """A session of a live server.

        remote = airshed.connect("http://127.0.0.1:8017/#token=...")
        remote.run(until="6 h")
        remote.set({"emissions.scale.NOx": 0.5})
        remote["O3"].sel(level=10, method="nearest").plot()

    certificate  file of a certificate that is trusted for https in addition to the system's
    A session is for one thread at a time. Raises ServerError with the message of the server.
    """

    def __init__(
        self, url: str, session: str = "main", author: str = "python", *, timeout: float = 600.0,
        certificate: str | Path | None = None,
    ) -> None:  # fmt: skip
        parts, host, tokens = _address(url)
        if not (author.isprintable() and author.encode("latin-1", "replace").decode("latin-1") == author):
            raise CaseError(f"author = {author!r} must consist of Latin-1 letters, as in HTTP headers")
        self.url, self.session, self._author = url, session, author
        self._headers = {
            "Authorization": f"Bearer {tokens[0]}", "X-Airshed-Client": secrets.token_hex(16),
            "X-Airshed-Author": author,
        }  # fmt: skip
        self._trust = trusting(certificate) if parts.scheme == "https" else None
        self._connection: http.client.HTTPConnection = (
            http.client.HTTPConnection(host, parts.port, timeout=timeout)
            if self._trust is None
            else http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=self._trust)
        )
        self._certificate = certificate
        self._info: types.ModelInfo | None = None
        self._lock = threading.Lock()
        self._used = time.monotonic()

    def info(self) -> types.ModelInfo:
        """Return the description of the model."""
        self._info = types.ModelInfo.model_validate_json(self._ask("GET", "/info"))
        return self._info

    def summary(self) -> types.Summary:
        """Return the summary of the run so far: budgets, extremes, input, wall time."""
        return types.Summary.model_validate_json(self._ask("GET", "/summary"))

    @property
    def state(self) -> types.SessionState:
        """The state of the session."""
        return types.SessionState.model_validate_json(self._ask("GET", ""))

    def step(self, n: int = 1) -> types.SessionState:
        """Advance by a number of steps."""
        return self._do(types.Step, steps=n).state

    def run(self, until: str | float | None = None) -> types.SessionState:
        """Advance to the end of the first step at or after a time, by default to the end of the case."""
        return self._do(types.Run, until=until, wait=True).state

    def start(self, until: str | float | None = None, *, steps_per_second: float | None = None) -> types.SessionState:
        """Start to advance, and return without waiting."""
        return self._do(types.Run, until=until, steps_per_second=steps_per_second).state

    def pause(self) -> types.SessionState:
        """Stop at the end of the present step."""
        return self._do(types.Pause).state

    def restart(self) -> types.SessionState:
        """Return to the start of the case."""
        return self._do(types.Restart).state

    def set(self, changes: Mapping[str, Any]) -> types.SessionState:
        """Change settings by their paths and settable fields by their names, as Simulation.set does: all or none."""
        return self._do(types.Set, changes=dict(changes)).state

    def release(self, species: str, place: tuple[float, float], rate: float, **given: Any) -> types.SessionState:
        """Release a species at a location (lon, lat) from now on, at a rate [kg/s]; more arguments: types.Release."""
        return self._do(types.Release, species=species, lon=place[0], lat=place[1], rate=rate, **given).state

    def paint(self, variable: str, value: float, **given: Any) -> types.SessionState:
        """Change a field in a window or polygon; further arguments: types.Paint."""
        return self._do(types.Paint, variable=variable, value=value, **given).state

    def snapshot(self, text: str = "") -> str:
        """Store the state; return the name of the snapshot."""
        stored = self._do(types.Snapshot, text=text).snapshot
        assert stored is not None
        return stored.snapshot

    def snapshots(self) -> list[types.SnapshotInfo]:
        """Return the stored snapshots."""
        return [types.SnapshotInfo.model_validate(each) for each in json.loads(self._ask("GET", "/snapshots"))]

    def restore(self, snapshot: str) -> types.SessionState:
        """Return to a snapshot, earlier or later."""
        return self._do(types.Restore, snapshot=snapshot).state

    def branch(
        self, snapshot: str | None = None, changes: Mapping[str, Any] | None = None, scenario: str = ""
    ) -> "Remote":
        """Return a new session that continues from a snapshot, by default from the present state, with changes.

        scenario  its name; by default the server makes one from the changes, such as "Road transport −80 %, Germany"
        """
        state = self._do(types.Branch, snapshot=snapshot, changes=dict(changes or {}), scenario=scenario).branch
        assert state is not None
        timeout = self._connection.timeout or 600.0
        return Remote(self.url, state.session, self._author, timeout=timeout, certificate=self._certificate)

    def rename(self, scenario: str) -> types.SessionState:
        """Give the scenario of this session another name."""
        return self._do(types.RenameScenario, scenario=scenario).state

    def replay(self) -> types.ReplayResult:
        """Repeat the run on the server from its log, and return the comparison of the bits."""
        result = self._do(types.Replay).replay
        assert result is not None
        return result

    def log(self, since: int = 0) -> list[types.LogEntry]:
        """Return the log of commands, from a number on."""
        return [types.LogEntry.model_validate(each) for each in json.loads(self._ask("GET", f"/log?since={since}"))]

    def command(self, command: types.Document) -> types.Result:
        """Execute a command in the session."""
        return types.Result.model_validate_json(self._ask("POST", "/commands", command.model_dump_json()))

    def _do(self, kind: type[types.Document], **given: Any) -> types.Result:
        """Execute a command of a kind; raises CaseError for invalid arguments, with the message of the server."""
        try:
            command = kind(**given)
        except ValidationError as error:
            place, message = types.first_wrong(error.errors())
            where = f"{place[0]} = {given.get(str(place[0]))!r}" if place else kind.__name__
            raise CaseError(f"{where}: {message}") from None
        return self.command(command)

    def frame(self, name: str, **chosen: Any) -> Frame:
        """Return a frame; `chosen`: level, window, stride, encoding, range, compress, see docs/how-to/serve.md."""
        return self._frame(f"/data/{quote(name, safe='')}", chosen)

    def _frame(self, path: str, chosen: Mapping[str, Any]) -> Frame:
        plain = {key: _plain(value) for key, value in chosen.items() if value is not None}
        return next(frames(self._ask("GET", f"{path}?{urlencode(plain)}")))

    def image(self, name: str, **chosen: Any) -> "np.ndarray[Any, np.dtype[np.uint8]]":
        """Return a byte image of a field; 255 is missing."""
        image: np.ndarray[Any, np.dtype[np.uint8]] = self.frame(name, encoding="byte", **chosen).raw
        return image

    def values(self, name: str, **chosen: Any) -> "np.ndarray[Any, Any]":
        """Return the values of a field, in single precision."""
        return self.frame(name, **chosen).values

    def __getitem__(self, name: str) -> "xr.DataArray":
        """Return a field with its unit and coordinates."""
        import xarray as xr

        info = self._info or self.info()
        found = self.frame(name)
        there = {each.name: (each.dim, each.values, {"units": each.unit}) for each in info.grid.coordinates}
        coords = {key: value for key, value in there.items() if value[0] in found.header.dims}
        time = np.datetime64(found.header.time.removesuffix("Z"))
        text = next(each.text for each in info.variables if each.name == name)
        return xr.DataArray(
            found.values, dims=found.header.dims, name=name, coords={**coords, "time": time},
            attrs={"units": found.header.unit, "long_name": text},
        )  # fmt: skip

    def open(self) -> "xr.Dataset":
        """Return the present state as a Dataset; a field is fetched on access, with its values at that time."""
        import xarray as xr
        from zarr.core.buffer import Buffer, default_buffer_prototype
        from zarr.storage import MemoryStore

        remote = self

        class Keys(dict[str, Buffer]):
            """Keys whose values are fetched whole on every access; the consolidated metadata list their names."""

            def __missing__(self, key: str) -> Buffer:
                try:
                    with remote._lock:
                        content = remote._ask("GET", f"/zarr/{quote(key)}")
                except ServerError as error:
                    raise KeyError(key) if error.status == 404 else error from None
                return default_buffer_prototype().buffer.from_bytes(content)

            def __contains__(self, key: object) -> bool:
                try:
                    return self[str(key)] is not None
                except KeyError:
                    return False

        opened: xr.Dataset = xr.open_zarr(MemoryStore(Keys(), read_only=True), consolidated=True, chunks=None)
        return opened

    def netcdf(self, *names: str) -> bytes:
        """Return fields of the present state as a netCDF file."""
        return self._ask("GET", f"/netcdf?{urlencode({'variables': ','.join(names)})}")

    def picture(self, name: str, level: int = 0) -> bytes:
        """Return a map as PNG."""
        return self._ask("GET", f"/png/{quote(name, safe='')}?level={level}")

    def origin(
        self, species: str, place: str | tuple[float, float], at: str | float | None = None, *, level: int = 0,
        progress: Callable[[str, float], None] = lambda part, done: None,
    ) -> "Sources":  # fmt: skip
        """Return the sources of a concentration, by the exact adjoint of the session's run.

        The server computes them in a process of its own, so that the session goes on.

        Parameters
        ----------
        species
            Species of the mechanism.
        place
            City of 100 000 people or country, or longitude and latitude.
        at
            Time since the start of the case, such as "14 h" or in seconds; by default the present time.
        level
            Level, counted from the ground.
        progress
            Function that receives "start", "forward" or "backward" and the completed part, 0 to 1.

        Returns
        -------
        Sources
            Maps as an xarray Dataset, and a table of all contributions.

        Raises
        ------
        AirshedError
            If the session has no sources at that time, or another computation goes on.

        Examples
        --------
        >>> found = remote.origin("O3", (6.96, 50.94), at="14 h")
        >>> found.maps.contribution.sel(pollutant="NOx").plot()
        >>> found.table.groupby(["country", "sector_text"]).value.sum()
        """
        from airshed.serve.origin.remote import sources_of

        return sources_of(self, species, place, at, level, progress)

    def difference(self, other: "Remote", name: str, **chosen: Any) -> Frame:
        """Return a field of this session minus that of another session of the same server."""
        return self._frame(f"/compare/{quote(name, safe='')}", {"with": other.session, **chosen})

    def effect(
        self, other: "Remote", name: str, level: int = 0, *, country: str = "",
        places: Sequence[tuple[float, float]] = (), threshold: float | None = None,
    ) -> Effect:  # fmt: skip
        """Return the effect of this run on a field, compared with another run of the same server.

        country    mean over a country in addition to the whole area
        places     longitudes and latitudes [degrees] whose change is returned
        threshold  least change [unit of the field] of the cities whose people count; by default 1 % of the mean
        """
        query = {"other": other.session, "variable": name, "level": level, "country": country, "threshold": threshold}
        query["places"] = ";".join(f"{lon},{lat}" for lon, lat in places)
        chosen = {key: value for key, value in query.items() if value not in (None, "")}
        return Effect.model_validate_json(self._ask("GET", f"/effect?{urlencode(chosen)}"))

    def end(self) -> None:
        """End the session on the server."""
        self._ask("DELETE", "")

    def close(self) -> None:
        """Close the connection; the session continues on the server."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: str | None = None) -> bytes:
        now = time.monotonic()
        if now - self._used > _SILENT:
            self._connection.close()  # the server may be about to close it
        self._used = now
        headers = {**self._headers, **({} if body is None else {"Content-Type": "application/json"})}
        connection = self._connection
        try:
            sent = None if body is None else body.encode()  # http.client encodes text as Latin-1, JSON is UTF-8
            connection.request(method, f"/api/sessions/{quote(self.session, safe='')}{path}", sent, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            why = f"no answer from {connection.host}:{connection.port} ({error or type(error).__name__}); "
            why += "is airshed serve running?"
            if isinstance(error, ssl.SSLCertVerificationError):
                why = f"the certificate of {connection.host} is not trusted ({error.verify_message}); "
                why += "pass its file as certificate="
            raise ServerError(why) from None
        if answer.status >= 400:
            message = f"the server answered with status {answer.status}"
            with suppress(ValueError, KeyError, TypeError):
                message = str(json.loads(content)["message"])
            raise ServerError(message, answer.status)
        return content


def connect(
    url: str, session: str = "main", author: str = "python", *, certificate: str | Path | None = None,
    wait: float = 120.0,
) -> Remote:  # fmt: skip
    """Return a session of a live server.

    Parameters
    ----------
    url
        Address that ``airshed serve`` printed, with its token.
    session
        Name of the session.
    author
        Name under which commands of this client are logged.
    certificate
        File with the self-signed certificate of the server.
    wait
        Longest time [s] to wait until the model is ready.

    Returns
    -------
    Remote
        The session, with the method names of a Simulation.

    Raises
    ------
    AirshedError
        If there is no server at this address, no such session, or no permission.

    Examples
    --------
    >>> remote = airshed.connect("http://127.0.0.1:8017/#token=...")
    >>> remote["O3"].isel(level=0).plot()
    """
    remote = Remote(url, session, author, certificate=certificate)
    until = time.monotonic() + wait
    try:
        while True:
            try:
                remote.state  # noqa: B018 - raises where no server responds
                return remote
            except ServerError as error:
                if error.status != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > until:
                    raise
            time.sleep(_AGAIN)
    except BaseException:
        remote.close()
        raise


def trusting(certificate: str | Path | None) -> ssl.SSLContext:
    """Return a TLS context that trusts the system's certificates and one in a file; raises CaseError for a bad file."""
    trust = ssl.create_default_context()
    if certificate is not None:
        try:
            trust.load_verify_locations(certificate)
        except OSError as error:
            reason = error.strerror or "it contains no certificate"
            raise CaseError(
                f"{certificate} cannot be trusted: {reason}; give a file with a certificate in PEM format"
            ) from None
    return trust


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(str(each) for each in value) if isinstance(value, tuple | list) else value
