"""Roles: routes and commands that readers may use, enumerated from the application, and requests for access."""

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.serve.conftest import Start, reached, serving
from tests.serve.test_any_request import ask as ask_with
from tests.serve.test_any_request import operations
from websockets.sync.client import ClientConnection, connect

import airshed
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.serve.access.gate import READ_ONLY
from airshed.serve.access.lease import Client, Lease
from airshed.serve.access.people import People, plain_name, unique_name
from airshed.serve.access.tokens import FILE, Tokens, stored_tokens
from airshed.serve.access.waiting import AccessRequests
from airshed.serve.client import ServerError
from airshed.serve.http import live
from airshed.serve.http.server import Server
from airshed.serve.protocol import messages, types
from airshed.serve.protocol.errors import NotThereError, TooManyError

OPEN = {"/api/access/request", "/api/access/answer"}
"""Routes that need no token."""

COMMANDS = {kind.model_fields["kind"].default: kind for kind in get_args(get_args(types.Command)[0])}
SAMPLE: dict[str, dict[str, Any]] = {
    "set": {"changes": {"transport.diffusion": False}},
    "paint": {"variable": "TRACER", "value": 1.0, "window": [0, 1, 0, 1]},
    "release": {"species": "TRACER", "lon": 0.0, "lat": 0.0, "rate": 1.0, "unit": "mol/s", "duration": 10.0},
    "forget": {"snapshot": "s1"}, "restore": {"snapshot": "s1"}, "rename": {"scenario": "Less traffic"},
}  # fmt: skip
"""Arguments of commands that have no defaults."""


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with serving(load_case(Path("tracer-rotation"))) as server:
        yield server


def ask(server: Server, token: str | None, method: str, path: str, body: object = None) -> tuple[int, Any]:
    sent = None if body is None else json.dumps(body).encode()
    given = {"Content-Type": "application/json", "Authorization": "" if token is None else f"Bearer {token}"}
    status, content = ask_with(server, method, path, sent, **given)
    return status, json.loads(content) if content.startswith((b"{", b"[")) else content


def version(server: Server) -> tuple[int, int, list[str]]:
    state = server.engine.sessions["main"].state
    return state.version, state.log_entries, list(server.engine.sessions)


def changing() -> list[tuple[str, str]]:
    """Return all operations that are no reading."""
    found = [*operations(), ("DELETE", "/api/sessions/{session}")]
    return [(method, path) for method, path in found if method not in ("GET", "HEAD") and path not in OPEN]


@pytest.mark.parametrize(("method", "path"), changing())
def test_a_reader_changes_nothing_by_any_route(served: Server, method: str, path: str) -> None:
    before = version(served)
    kind = path.rpartition("/")[2]
    body = SAMPLE.get(kind, {"case": "tracer-rotation"} if path == "/api/sessions" else {"kind": "step"})
    where = path.replace("{session}", "main").replace("{number}", "1000").replace("{variable}", "TRACER")
    status, problem = ask(served, served.tokens.watch, method, where, body)
    assert (status, problem) == (403, {"error": "RefusedError", "message": READ_ONLY})
    assert version(served) == before


def test_the_routes_include_those_that_steer() -> None:
    """Negative control of the enumeration."""
    assert {("POST", f"/api/sessions/{{session}}/{kind}") for kind in COMMANDS} <= set(changing())
    assert {("POST", "/api/sessions"), ("POST", "/api/sessions/{session}/commands")} <= set(changing())
    assert all(method in ("POST", "DELETE", "PUT", "PATCH") for method, _ in changing())


def test_the_same_request_with_control_steers(served: Server) -> None:
    """Negative control of the refusals."""
    before = version(served)
    status, result = ask(served, served.tokens.control, "POST", "/api/sessions/main/step", {"steps": 1})
    assert (status, result["state"]["step"] > 0) == (200, True)
    assert version(served) != before
    ask(served, served.tokens.control, "DELETE", "/api/sessions/main/control")


def test_a_reader_reads(served: Server) -> None:
    reader = served.tokens.watch
    for path in ("info", "cases", "sessions", "sessions/main", "sessions/main/info", "sessions/main/log", "access"):
        assert ask(served, reader, "GET", f"/api/{path}")[0] == 200
    with airshed.connect(served.reader_url) as remote:
        assert remote.values("TRACER", level=0).ndim == 2
        with pytest.raises(ServerError, match="allows to watch") as refused:
            remote.step()
    assert refused.value.status == 403


@contextmanager
def socket(server: Server, token: str, author: str = "") -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{server.port}/api/live") as made:
        made.send(json.dumps({"token": token, "client": f"{author} with {token}", "author": author}))
        yield made


def until(made: ClientConnection, key: str, value: object) -> dict[str, Any]:
    """Return the next message with a value."""
    while True:
        message = made.recv(20.0)
        found = json.loads(message) if isinstance(message, str) else {}
        if found.get(key) == value:
            return found


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_reader_gives_no_command_by_the_websocket(served: Server, kind: str) -> None:
    before = version(served)
    with socket(served, served.tokens.watch) as made:
        made.send(json.dumps({"command": {"kind": kind, **SAMPLE.get(kind, {})}, "session": "main", "id": 7}))
        reply = until(made, "reply", 7)
    assert (reply["ok"], reply["problem"]["message"]) == (False, READ_ONLY)
    assert version(served) == before


def test_messages_of_a_reader_are_listed_by_their_types(served: Server) -> None:
    """A new message is refused until it is listed as one that changes nothing."""
    sent = set(get_args(messages.ClientMessage))
    assert sent - set(live._READING) == {messages.CommandMessage}
    with socket(served, served.tokens.watch) as made:
        made.send(json.dumps({"subscribe": {"id": "map", "variable": "TRACER", "level": 0}}))
        while isinstance(made.recv(20.0), str):
            pass
    with socket(served, served.tokens.control) as made:  # the same command with control
        made.send(json.dumps({"command": {"kind": "pause"}, "session": "main", "id": 7}))
        assert until(made, "reply", 7)["ok"]
    ask(served, served.tokens.control, "DELETE", "/api/sessions/main/control")


def test_a_reader_does_not_set_up_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(SingleRank())
    begun: list[str] = []
    monkeypatch.setattr(server.engine, "begin_offered", lambda name="main": begun.append(name))
    with server.listening():
        assert ask(server, server.tokens.watch, "GET", "/api/sessions/main")[0] == 503
        assert begun == []
        assert ask(server, server.tokens.control, "GET", "/api/sessions/main")[0] == 503
        assert begun == ["main"]


# ---- tokens ----------------------------------------------------------------------------------------------------------


def test_tokens_are_random_and_independent() -> None:
    one, other = Tokens(), Tokens()
    assert len({one.control, one.watch, other.control, other.watch}) == 4
    assert all(len(each) == 43 for each in (one.control, one.watch))  # 256 bits in base64
    assert [one.role_of(each) for each in (one.control, one.watch, other.control, "")] == [
        "control",
        "watch",
        None,
        None,
    ]
    assert one.role_of(one.grant("watch", "Anna")) == "watch"


def test_all_tokens_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time does not depend on which one matches."""
    tokens, compared = Tokens(), []
    tokens.grant("watch", "Anna")
    monkeypatch.setattr("airshed.serve.access.tokens.hmac.compare_digest", lambda a, b: bool(compared.append(b)))
    for given in (tokens.control, "wrong"):
        compared.clear()
        tokens.role_of(given)
        assert len(compared) == 3


def test_grants_are_bounded() -> None:
    tokens = Tokens()
    first = tokens.grant("watch", "first")
    for k in range(64):
        tokens.grant("watch", str(k))
    assert len(tokens.granted) == 64
    assert tokens.role_of(first) is None


def test_stored_tokens_are_for_their_owner_and_whole(tmp_path: Path) -> None:
    file = tmp_path / FILE
    tokens = Tokens(file=file)
    granted = tokens.grant("control", "Anna")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    found = stored_tokens(file)
    assert found == tokens
    assert found is not None
    assert found.role_of(granted) == "control"
    whole = file.read_text()
    for damaged in (
        whole[:40],
        "",
        "[]",
        "null",
        whole.replace('"control"', '"owner"'),
        '{"control": "", "watch": ""}',
    ):
        file.write_text(damaged)
        assert stored_tokens(file) is None
    file.write_text(whole)
    file.chmod(0o640)
    assert stored_tokens(file) is None
    file.unlink()
    assert stored_tokens(file) is None


def test_resume_keeps_the_addresses_of_both_roles(start: Start, tmp_path: Path) -> None:
    process, main = start("--output", "live", "--port", "0")
    main.step()
    main.snapshot()
    assert process.stdout is not None
    reader = process.stdout.readline().strip()
    assert reader.startswith("To watch: http://127.0.0.1:")
    process.kill()
    _, output = process.communicate()
    assert stat.S_IMODE((tmp_path / "live" / FILE).stat().st_mode) == 0o600
    again, resumed = start("--output", "live", "--resume")
    assert resumed.url.partition("#")[2] == main.url.partition("#")[2]
    assert again.stdout is not None
    assert again.stdout.readline().strip().partition("#")[2] == reader.partition("#")[2]
    for token in (main.url, reader):
        assert token.partition("=")[2] not in output
    with reached(resumed.url) as remote:
        assert remote.state.step == 1


# ---- requests for access ---------------------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def requests() -> AccessRequests:
    return AccessRequests(Tokens(), Clock())


def test_access_is_granted_over_http(served: Server) -> None:
    status, ticket = ask(served, None, "POST", "/api/access/request", {"name": "Ben", "role": "watch"})
    assert status == 200
    assert ask(served, None, "POST", "/api/access/answer", {"ticket": ticket["ticket"]})[1]["status"] == "waiting"
    waiting = ask(served, served.tokens.control, "GET", "/api/access")[1]["waiting"]
    assert [(each["name"], each["number"], each["role"]) for each in waiting] == [("Ben", ticket["number"], "watch")]
    assert ask(served, served.tokens.watch, "GET", "/api/access")[1]["waiting"] == []
    assert "ticket" not in json.dumps(waiting)
    where = f"/api/access/requests/{ticket['number']}"
    assert ask(served, None, "POST", where, {"role": "watch"})[0] == 401
    assert ask(served, served.tokens.watch, "POST", where, {"role": "control"})[0] == 403
    assert ask(served, served.tokens.control, "POST", where, {"role": "watch"})[0] == 200
    answer = ask(served, None, "POST", "/api/access/answer", {"ticket": ticket["ticket"]})[1]
    assert (answer["status"], answer["role"]) == ("granted", "watch")
    assert answer["token"] not in (served.tokens.control, served.tokens.watch)
    assert ask(served, answer["token"], "GET", "/api/sessions/main")[0] == 200
    assert ask(served, answer["token"], "POST", "/api/sessions/main/step", {})[0] == 403
    assert ask(served, served.tokens.control, "POST", where, {"role": "control"})[0] == 404


def test_clients_with_control_see_requests_and_readers_do_not(served: Server) -> None:
    with (
        socket(served, served.tokens.control, "owner") as owner,
        socket(served, served.tokens.watch, "reader") as reader,
    ):
        until(owner, "event", "access")
        ticket = ask(served, None, "POST", "/api/access/request", {"name": "Eve"})[1]
        waiting = until(owner, "event", "access")["waiting"]
        assert [each["name"] for each in waiting] == ["Eve"]
        ask(served, served.tokens.control, "POST", f"/api/access/requests/{ticket['number']}", {"role": None})
        assert until(owner, "event", "access")["waiting"] == []
        reader.send(json.dumps({"rename": "Reader"}))
        seen = []
        while True:
            message = json.loads(reader.recv(20.0))
            seen.append(message.get("event"))
            if message.get("author") == "Reader":
                break
        assert "access" not in seen
    assert ask(served, None, "POST", "/api/access/answer", {"ticket": ticket["ticket"]})[1]["status"] == "refused"


def test_a_large_request_without_a_token_is_refused(served: Server) -> None:
    assert ask(served, None, "POST", "/api/access/request", {"name": "x" * 2000})[0] == 413
    assert ask(served, None, "POST", "/api/access/request", {"name": "x" * 200})[0] == 422


def test_floods_of_requests_are_bounded(requests: AccessRequests) -> None:
    for k in range(3):
        requests.ask(f"flood {k}", "control", "10.0.0.1")
    with pytest.raises(TooManyError, match="too many requests for access are waiting"):
        requests.ask("flood", "control", "10.0.0.1")
    requests.ask("Anna", "watch", "10.0.0.2")  # another address is not concerned
    refused = 0
    for k in range(100):
        try:
            requests.ask("flood", "control", f"10.0.1.{k}")
        except TooManyError:
            refused += 1
    assert refused > 90
    assert len(requests.waiting()) <= 8


def test_requests_expire_with_their_answers(requests: AccessRequests) -> None:
    first, second = (requests.ask(name, "watch", name) for name in ("one", "two"))
    requests.decide(first.number, "watch")
    assert requests.answer_to(first.ticket).status == "granted"
    requests.clock.now = 601.0  # type: ignore[attr-defined]
    assert requests.waiting() == []
    assert requests.answer_to(first.ticket).status == requests.answer_to(second.ticket).status == "unknown"
    with pytest.raises(NotThereError, match="it may have expired"):
        requests.decide(second.number, "watch")


def test_all_requests_can_be_refused_for_an_hour(requests: AccessRequests) -> None:
    ticket = requests.ask("one", "control", "a")
    requests.refuse_all()
    assert requests.answer_to(ticket.ticket).status == "refused"
    with pytest.raises(TooManyError, match="accepts no requests"):
        requests.ask("two", "watch", "b")
    requests.clock.now = 3601.0  # type: ignore[attr-defined]
    requests.ask("two", "watch", "b")
    assert not requests.tokens.granted


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Anna\nowner", "Anna owner"), ("\u202eannA", "annA"), ("  a   b ", "a b"), ("\x1b[31mred", "[31mred"),
        ("x" * 90, "x" * 40), ("", "Guest"), ("\u200b", "Guest"), ("Łukasz", "Łukasz"),
    ],
)  # fmt: skip
def test_names_are_plain(requests: AccessRequests, given: str, name: str) -> None:
    requests.ask(given, "watch", "a")
    assert requests.waiting()[0].name == name


# ---- people and control ----------------------------------------------------------------------------------------------


def test_names_of_people_are_unique() -> None:
    people = People()
    first = people.add(1, Client("a", "Anna"), "control")
    assert first.author == "Anna"
    assert people.add(2, Client("b", "Anna"), "watch").author == "Anna (2)"
    assert people.add(3, Client("a", "Anna"), "control").author == "Anna"  # a second window of the first
    assert people.add(4, Client("c", ""), "watch").author == "Guest 1"
    assert people.add(5, Client("d", "anonymous"), "watch").author == "Guest 2"
    assert [each.name for each in people.listed()] == ["Anna", "Anna (2)", "Guest 1", "Guest 2"]
    assert people.rename(5, "Dora").author == "Dora"
    assert not people.remove(1)
    assert people.remove(3)
    assert not people.remove(3)
    assert plain_name("anonymous") == "anonymous"
    assert unique_name("Guest 1", {"Guest 1"}) == "Guest 1 (2)"


def test_people_come_and_go(served: Server) -> None:
    with socket(served, served.tokens.control, "Anna") as anna:
        assert until(anna, "event", "named")["author"] == "Anna"
        with socket(served, served.tokens.watch, "Anna") as other:
            assert until(other, "event", "named") == {"event": "named", "author": "Anna (2)", "role": "watch"}
            people = [{"name": "Anna", "role": "control"}, {"name": "Anna (2)", "role": "watch"}]
            assert until(anna, "people", people)
        assert until(anna, "people", people[:1])


def test_control_is_declined_and_free_when_its_holder_leaves() -> None:
    clock = Clock()
    lease, one, two, three = Lease(30.0, clock), Client("1", "One"), Client("2", "Two"), Client("3", "Three")
    lease.command(one)
    assert lease.ask(two, ask=True).asked
    assert lease.ask(three, ask=True).asking == "Two"  # one at a time
    assert lease.decline(three).asking == "Two"
    assert lease.decline(one).asking is None
    lease.ask(three, ask=True)
    lease.leave("3")
    assert lease.state_for(one).asking is None
    lease.leave("1")
    assert lease.state_for(two).controller == "One"  # a lost connection may return
    clock.now = 6.0
    assert lease.state_for(two).controller is None
    lease.command(two)
    lease.rename(Client("2", "Dora"))
    assert lease.state_for(one).controller == "Dora"


def test_the_end_of_control_is_published(served: Server) -> None:
    with socket(served, served.tokens.control, "watcher") as watcher:
        with socket(served, served.tokens.control, "holder") as holder:
            holder.send(json.dumps({"command": {"kind": "pause"}, "session": "main", "id": 1}))
            until(holder, "reply", 1)
        lease = served.engine.sessions["main"].lease
        assert lease.holder is not None
        lease._until = lease.clock()
        while until(watcher, "event", "control")["state"].get("controller") is not None:
            pass
