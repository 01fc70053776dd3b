"""Requests of all kinds, generated from the OpenAPI document: none returns status 500 or ends the server.

AIRSHED_REQUESTS sets the number of requests for each operation, 4 by default.
"""

import json
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis

import airshed
from airshed.serve.access.limits import Limits
from airshed.serve.client import Remote
from airshed.serve.http.server import Server

WITHIN = settings(
    max_examples=int(os.environ.get("AIRSHED_REQUESTS", "4")), deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None,
)  # fmt: skip


@pytest.fixture(scope="module")
def server(serve: Any) -> Server:
    return serve(
        "tracer-rotation", 'time.length="2 h"', limits=Limits(sessions=2, snapshots=5, requests=1e6, burst=1e6)
    )


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Remote]:
    with airshed.connect(server.url) as remote:
        yield remote


def operations() -> list[tuple[str, str]]:
    """Return the operations of the document, except the one that ends the session."""
    from airshed.parallel.communicator import SingleRank
    from airshed.serve.access.tokens import Tokens
    from airshed.serve.access.waiting import AccessRequests
    from airshed.serve.http.api import application
    from airshed.serve.model.engine import Engine
    from airshed.serve.model.host import Host
    from airshed.serve.model.requests import Requests

    document = application(Requests(Engine(Host(SingleRank()), Limits())), AccessRequests(Tokens())).openapi()
    return [
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if (method, path) != ("delete", "/api/sessions/{session}")
    ]


@pytest.fixture(scope="module")
def schema(server: Server) -> Any:
    document = json.loads(ask(server, "GET", "/api/openapi.json")[1])
    document.pop("security", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return schemathesis.openapi.from_dict(document)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "path"), operations())
def test_no_request_breaks_the_server(server: Server, client: Remote, schema: Any, method: str, path: str) -> None:
    operation = schema[path][method]

    @WITHIN
    @given(operation.as_strategy(), st.booleans())
    def any_request(case: Any, there: bool) -> None:
        if there and "session" in (case.path_parameters or {}):
            case.path_parameters["session"] = "main"
        if there and "variable" in (case.path_parameters or {}):
            case.path_parameters["variable"] = "TRACER"
        headers = {"Authorization": f"Bearer {server.token}", "X-Airshed-Client": "fuzz"}
        answer = case.call(base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=60)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert set(answer.json()) == {"error", "message"}, answer.text

    any_request()
    server.engine.sessions["main"].lease.holder = None
    assert client.state.session == "main"
    for name in [name for name in server.engine.sessions if name != "main"]:
        server.engine.close(name).result(60.0)


def ask(server: Server, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {server.token}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_the_server_continues_after_a_defect(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control of the test above."""
    from airshed.serve.model import sessions

    with monkeypatch.context() as patched:
        patched.setattr(sessions, "check_patch", lambda patch, case: 1 / 0)
        body = json.dumps({"changes": {"transport.advection": False}}).encode()
        sent = {"Content-Type": "application/json"}
        status, answer = ask(server, "POST", "/api/sessions/main/set", body, **sent)
        assert (status, json.loads(answer)["error"]) == (500, "DefectError")
    assert ask(server, "GET", "/api/sessions/main")[0] == 200


def test_errors_have_the_form_of_the_openapi_document(server: Server) -> None:
    document = json.loads(ask(server, "GET", "/api/openapi.json")[1])
    for method, path in (("GET", "/api/nothing"), ("PUT", "/api/sessions/main"), ("GET", "/api/sessions/no")):
        assert set(json.loads(ask(server, method, path)[1])) == {"error", "message"}
    for each in document["paths"]["/api/sessions/{session}"].values():
        assert {"400", "401", "404", "409", "422", "503"} <= set(each["responses"])


def test_requests_that_no_client_makes_are_refused(server: Server) -> None:
    where = "/api/sessions/main"
    assert ask(server, "GET", "/api/info", Host="evil.example")[0] == 403
    assert ask(server, "GET", "/api/info", Origin="http://evil.example")[0] == 403
    assert ask(server, "GET", "/api/info", Origin="http://[")[0] == 403
    assert ask(server, "GET", "/api/info", Origin=f"http://127.0.0.1:{server.port}")[0] == 200
    # The server refuses by the declared length: with the whole body on its way it would close a connection in use.
    assert ask(server, "POST", f"{where}/set", b"x", **{"Content-Length": "2000000"})[0] == 413
    assert ask(server, "POST", f"{where}/set", b"[" * 100_000)[0] == 422
    assert ask(server, "POST", f"{where}/set", b'{"changes": {"a": 1e999}}')[0] in (400, 422)
    assert ask(server, "POST", f"{where}/set", b'{"changes": {"a": NaN}}')[0] in (400, 422)
    assert ask(server, "GET", f"{where}/data/TRACER?window=0,0,0,0")[0] == 400
    for query in ("recording/TRACER?at=nan", "recording/TRACER?since=nan", "netcdf?variables=TRACER&at=-inf"):
        assert ask(server, "GET", f"{where}/{query}")[0] == 422
    assert ask(server, "GET", f"{where}/stations/scores?variable=TRACER&until=nan")[0] == 422
    assert ask(server, "GET", f"{where}/recording/TRACER?at=0")[0] == 200
    assert ask(server, "GET", f"{where}/data/%00")[0] == 404
    assert ask(server, "GET", f"{where}/zarr/../../../etc/passwd")[0] == 404
    assert ask(server, "GET", "/..%2f..%2f..%2fetc/passwd")[0] == 404
    assert ask(server, "POST", f"{where}/set", b"\xff\xfe", **{"Content-Type": "application/json"})[0] in (400, 422)
    assert ask(server, "GET", "/api/info", **{"Content-Length": "x"})[0] in (400, 422)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"toml": 'model = "air"\n[meteorology]\nfiles = ["/etc/passwd"]'}, "outside the catalogue"),
        ({"toml": 'model = "air"\n[meteorology]\nfiles = ["../../secrets/*.nc"]'}, "outside the catalogue"),
        ({"toml": 'model = "air"\n[emissions]\ngridded = ["https://example.org/a.nc"]'}, "outside the catalogue"),
        ({"case": "tracer-rotation", "changes": {"chemistry.mechanism": "~/mine.eqn"}}, "outside the catalogue"),
        ({"case": "../tracer-rotation"}, "no case '../tracer-rotation' in the catalogue"),
        ({"case": "tracer-rotation", "changes": {"grid.spacing": "0.01 deg"}}, "cells"),
        ({"case": "tracer-rotation", "changes": {"run.threads": 1000}}, "threads"),
        ({"toml": "= 3"}, "not valid TOML"),
        ({"toml": "a = " + "[" * 5000}, "the TOML text cannot be read"),
        ({"toml": "model = 3"}, "must be the name of a model"),
        ({"toml": f"{'.'.join(['a'] * 2000)} = 1"}, "A key has 31 parts"),
        ({"case": "tracer-rotation", "changes": {"time.step": [[]]}}, "time.step"),
        ({"toml": f"title = '{'a/' * 50_000}'"}, "too long"),
        ({"toml": f"title = '{'a' * 300}/x'"}, "grid is missing"),
        ({}, "name a case"),
    ],
)
def test_a_case_of_a_client_names_nothing_outside_and_is_not_too_large(
    server: Server, sent: dict[str, Any], message: str
) -> None:
    status, answer = ask(
        server, "POST", "/api/sessions", json.dumps(sent).encode(), **{"Content-Type": "application/json"}
    )
    assert status == 400, answer
    assert message in json.loads(answer)["message"]


def test_a_case_of_a_client_runs(server: Server) -> None:
    text = (airshed.load_case("tracer-rotation").to_toml()).replace('length = "86400 s"', 'length = "1 h"')
    body = json.dumps({"case": "tracer-rotation", "toml": text}).encode()
    status, answer = ask(server, "POST", "/api/sessions", body, **{"Content-Type": "application/json"})
    assert status == 200, answer
    state = json.loads(answer)
    with airshed.connect(server.url, state["session"]) as remote:
        assert remote.step(2).step == 2
        remote.end()
    with pytest.raises(airshed.core.errors.AirshedError, match="no session"):
        airshed.connect(server.url, state["session"])
