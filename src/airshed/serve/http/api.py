"""The routes of HTTP: documents as JSON, data as frames; see docs/how-to/serve.md."""

import asyncio
import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, get_args
from urllib.parse import unquote

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from airshed.core.errors import AirshedError
from airshed.core.version import __version__
from airshed.evaluate.observation_files import ObservationFiles
from airshed.serve.access.lease import Client
from airshed.serve.access.waiting import AccessRequests
from airshed.serve.http.access import access_routes
from airshed.serve.http.data import data_routes, file_routes
from airshed.serve.http.origins import analysis_routes, origin_routes
from airshed.serve.http.scenarios import scenario_routes
from airshed.serve.http.stations import station_routes
from airshed.serve.model.catalogue import case_of, catalogue
from airshed.serve.model.requests import Requests
from airshed.serve.protocol import types
from airshed.serve.protocol.errors import STATUS
from airshed.serve.protocol.schema import schemas
from airshed.serve.stations.comparison import StationComparison

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": types.Problem} for status in (400, 401, 403, 404, 409, 413, 422, 429, 503)
}
_COMMANDS: tuple[type[types.Document], ...] = get_args(get_args(types.Command)[0])


def application(
    requests: Requests, access_requests: AccessRequests, observations: ObservationFiles | None = None
) -> FastAPI:
    """Return the application of a server; `observations` replace those of the cases."""
    app = FastAPI(
        title="Airshed live", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
        responses=_PROBLEMS,
    )  # fmt: skip
    for kind in (AirshedError, Exception, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _problem)
    app.include_router(_server(requests))
    app.include_router(_session(requests))
    app.include_router(data_routes(requests))
    app.include_router(file_routes(requests))
    app.include_router(station_routes(requests, StationComparison(observations)))
    app.include_router(access_routes(access_requests))
    app.include_router(scenario_routes(requests))
    app.include_router(origin_routes(requests))
    app.include_router(analysis_routes(requests))
    _with_messages(app)
    return app


async def client(
    x_airshed_client: Annotated[str, Header(max_length=100)] = "",
    x_airshed_author: Annotated[str, Header(max_length=100)] = "anonymous",
) -> Client:
    """Return the client of a request, from its headers; letters of a name outside of Latin-1 are percent-encoded."""
    return Client(x_airshed_client, unquote(x_airshed_author))


Requester = Annotated[Client, Depends(client)]


def _server(requests: Requests) -> APIRouter:
    routes, engine = APIRouter(prefix="/api"), requests.engine

    @routes.get("/info")
    async def server() -> types.ServerInfo:
        """Return the server and its sessions."""
        return types.ServerInfo(version=__version__, sessions=_states(requests), limits=engine.limits.by_name())

    @routes.get("/cases")
    def cases() -> list[types.CaseEntry]:
        """Return the catalogue of cases."""
        return catalogue()

    @routes.get("/sessions")
    async def sessions() -> list[types.SessionState]:
        """Return the states of all sessions."""
        return _states(requests)

    @routes.post("/sessions")
    async def begin(request: types.OpenSession) -> types.SessionState:
        """Open a session of a case; the response follows when its model is ready."""
        case = await asyncio.to_thread(case_of, request, engine.limits)  # other requests are served meanwhile
        return await requests.open(case, request)

    return routes


def _states(requests: Requests) -> list[types.SessionState]:
    return [each.view() for each in list(requests.engine.sessions.values())]


def _session(requests: Requests) -> APIRouter:
    routes = APIRouter(prefix="/api/sessions/{session}")

    @routes.get("", response_model=types.SessionState)
    async def state(session: str) -> Response:
        """Return the state of a session."""
        return _json(requests.session(session).view())

    @routes.post("/setup")
    async def set_up(session: str) -> types.SessionState:
        """Set up the model of a recorded session; the response follows when it is ready."""
        return await requests.set_up(session)

    @routes.delete("")
    async def end(session: str, requester: Requester) -> None:
        """End a session."""
        await requests.close(session, requester)

    @routes.get("/info")
    async def info(session: str) -> types.ModelInfo:
        """Return the description of the model."""
        return await requests.info(session)

    @routes.get("/summary", response_model=types.Summary)
    async def summary(session: str) -> Response:
        """Return the summary of the run so far: budgets, extremes, input, wall time."""
        return _json(await requests.summary(session))

    @routes.get("/snapshots")
    async def snapshots(session: str) -> list[types.SnapshotInfo]:
        """Return the stored snapshots."""
        return requests.session(session).snapshots

    @routes.get("/log")
    async def log(session: str, since: Annotated[int, Query(ge=0, le=2**31)] = 0) -> list[types.LogEntry]:
        """Return the log of commands, from a number on."""
        return requests.session(session).log[since:]

    @routes.post("/commands", response_model=types.Result)
    async def command(session: str, command: types.Command, requester: Requester) -> Response:
        """Execute any command."""
        return _json(await requests.command(session, command, requester))

    for kind in _COMMANDS:
        name = kind.model_fields["kind"].default
        routes.post(f"/{name}", name=name, description=kind.__doc__, response_model=types.Result)(
            _route(requests, kind)
        )
    _control(routes, requests)
    return routes


def _json(document: types.Document) -> Response:
    """Return a document as it is: FastAPI would validate it a second time."""
    return Response(document.model_dump_json(), media_type="application/json")


def _route(requests: Requests, kind: type[types.Document]) -> Callable[..., Any]:
    async def command(session: str, command: Any, requester: Requester) -> Response:
        return _json(await requests.command(session, command, requester))

    command.__annotations__["command"] = kind
    return command


def _control(routes: APIRouter, requests: Requests) -> None:
    @routes.get("/control")
    async def controller(session: str, requester: Requester) -> types.Control:
        """Return the client that controls a session."""
        return requests.session(session).lease.state_for(requester)

    @routes.post("/control")
    async def ask(session: str, request: types.ControlRequest, requester: Requester) -> types.Control:
        """Take control if it is free, or request it."""
        control = requests.session(session).lease.ask(requester, ask=request.ask)
        requests.publish_control(session)
        return control

    @routes.delete("/control")
    async def give_up(session: str, requester: Requester) -> types.Control:
        """Give control up."""
        control = requests.session(session).lease.give_up(requester)
        requests.publish_control(session)
        return control

    @routes.delete("/control/request")
    async def decline(session: str, requester: Requester) -> types.Control:
        """Discard the request of another client for control."""
        control = requests.session(session).lease.decline(requester)
        requests.publish_control(session)
        return control


async def _problem(request: Request, error: Exception) -> JSONResponse:
    """Return the response to a failed request; uvicorn prints the traceback of a defect."""
    kind, status, message, headers = type(error).__name__, STATUS.get(type(error), 400), str(error), None
    match error:
        case HTTPException():
            kind, status, message, headers = "HTTPException", error.status_code, str(error.detail), error.headers
        case RequestValidationError():
            place, message = types.first_wrong(error.errors())
            kind, status, message = "TypeError", 422, f"{'.'.join(map(str, place))}: {message}"
        case AirshedError():
            pass
        case _:
            kind, status, message = "DefectError", 500, "a defect of Airshed; its traceback is in the server's terminal"
    return JSONResponse({"error": kind, "message": message}, status, headers)


def _with_messages(app: FastAPI) -> None:
    """Serve the OpenAPI document, with the types of frames and of WebSocket messages; it is built on first use."""

    @cache
    def content() -> bytes:
        document = app.openapi()
        held = document["components"]["schemas"]
        for name, schema in schemas().items():
            held.setdefault(name, schema)
        return json.dumps(document).encode()

    @app.get("/api/openapi.json", include_in_schema=False)
    async def document() -> Response:
        return Response(content(), media_type="application/json")


def add_pages(app: FastAPI) -> None:
    """Serve the browser's files, or a page with build instructions; added last, because it matches every path."""
    folder = files("airshed.serve").joinpath("web")
    if folder.joinpath("index.html").is_file():
        app.mount("/", StaticFiles(directory=str(folder), html=True))
        return

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(folder.joinpath("missing.html").read_text(encoding="utf-8"))
