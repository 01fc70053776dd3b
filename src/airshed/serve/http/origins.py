"""Routes of origins: start, state, result and maps of the computation of sources."""

import asyncio
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import Response

from airshed.core.errors import AirshedError, CaseError
from airshed.core.text import suggestion
from airshed.inverse.receptors.receptor import Receptor
from airshed.models.air.case import Case
from airshed.serve.fields.published import Selection, Session, frame_header
from airshed.serve.http.data import Instant, responses
from airshed.serve.model.requests import Requests
from airshed.serve.model.sessions import START, iso
from airshed.serve.origin.jobs import needed_memory
from airshed.serve.origin.settings import case_at, receptor_of
from airshed.serve.protocol.analysis import Analysis
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.protocol.frames import MEDIA_TYPE, encode, frame
from airshed.serve.protocol.origin import OriginRequest, OriginState
from airshed.serve.records.analysis import analysis_of
from airshed.serve.records.recorded_day import SETUP

_MAP = "origin"


def origin_routes(requests: Requests) -> APIRouter:
    """Return the routes of origins."""
    routes = APIRouter(prefix="/api/sessions/{session}/origin")
    jobs = requests.origins

    @routes.get("", response_model=OriginState)
    async def state(session: str, at: Instant = None) -> Response:
        """Return the state of the computation; with `at` [s], also the expected time, or the reason against it."""
        found = requests.session(session)
        now = jobs.state(session)
        now = _with_recorded(found, now)
        if at is not None:
            now = await asyncio.to_thread(_with_estimate, requests, session, now, at)
        return Response(now.model_dump_json(), media_type="application/json")

    @routes.post("", response_model=OriginState)
    async def start(session: str, request: OriginRequest) -> Response:
        """Start a computation, or show the stored result of the same one."""
        requests.session(session)

        def begin() -> None:
            case = _case(requests, session, request.at)
            _check(case, request)
            jobs.start(session, case, request)

        await asyncio.to_thread(begin)
        return Response(jobs.state(session).model_dump_json(), media_type="application/json")

    @routes.delete("")
    async def cancel(session: str) -> None:
        """Cancel a computation, or discard its result."""
        requests.session(session)
        await asyncio.to_thread(jobs.cancel, session)

    @routes.get("/map", responses=responses(MEDIA_TYPE), response_class=Response)
    async def picture(session: str, pollutant: Annotated[str, Query(max_length=200)] = "") -> Response:
        """Return a frame of the contribution of the emission of each cell, of a pollutant or of all together."""
        found = requests.session(session)
        values = await asyncio.to_thread(jobs.map_of, session, pollutant)
        payload = encode(values, "float32")
        dims = ["y", "x"] if found.shape.grid.kind == "projected" else ["lat", "lon"]
        header = frame_header(found.state, _MAP, "mol mol-1", dims, values.shape, payload, Selection())
        return Response(frame({**header, "subscription": None, "dropped": 0}, payload.data), media_type=MEDIA_TYPE)

    return routes


def analysis_routes(requests: Requests) -> APIRouter:
    """Return the route of the assimilation of which a session is the run before or after."""
    routes = APIRouter(prefix="/api/sessions/{session}")

    @routes.get("/analysis", response_model=Analysis)
    async def analysis(session: str) -> Response:
        """Return the cost, the controls and the departures of observations of an assimilation."""
        found = await asyncio.to_thread(analysis_of, requests.session(session))
        if found is None:
            raise NotThereError(f"{session} is no run of an assimilation")
        return Response(found.model_dump_json(), media_type="application/json")

    return routes


def _case(requests: Requests, session: str, at: float) -> Case:
    """Return the case of a session up to a time [s]; raise CaseError where its sources cannot be computed."""
    found, host = requests.session(session), requests.engine.host
    offered = requests.engine.offered_case if SETUP in _capabilities(found) else None
    if found.finished is not None and offered is None:
        raise CaseError("sources need a model, which a finished run does not have; start its case with airshed serve")
    if found.state.model != "air":
        raise CaseError(f"sources are of the model air; for {found.state.model} use airshed adjoint")
    if host.ranks.handle is not None:
        raise CaseError("a server with several ranks computes no sources; start it without -n, or use airshed adjoint")
    if at > found.state.end or at <= found.state.begin:
        raise CaseError(f"at = {at:g} s is not within the run; choose an hour after its start and up to its end")
    start = offered or host.sessions[session].snapshot(START).case
    assert isinstance(start, Case)

    def clock(seconds: float) -> str:
        return iso(start.start + np.timedelta64(round(1e3 * seconds), "ms"))[11:16]

    return case_at(start, found.log, at, clock)


def _capabilities(session: Session) -> list[str]:
    return [] if session.finished is None else session.finished.info.capabilities


def _check(case: Case, request: OriginRequest) -> None:
    """Raise CaseError for a species or a place that the case does not have."""
    names = case.network(looked_at=True).names
    if request.species not in names:
        raise CaseError(f"{request.species} has no sources: choose a species; {suggestion(request.species, names)}")
    Receptor.of(receptor_of(request), case.time.length.value).weights(case.make_grid())


def _with_estimate(requests: Requests, session: str, now: OriginState, at: float) -> OriginState:
    """Return a state with the expected time and memory up to a time [s], or with the reason against it."""
    try:
        case = _case(requests, session, at)
    except AirshedError as error:
        return now.model_copy(update={"refusal": str(error)})
    expected = now.expected if now.status == "running" else requests.origins.expected(case, at)
    return now.model_copy(update={"expected": expected, "memory": needed_memory(case)})


def _with_recorded(session: Session, now: OriginState) -> OriginState:
    """Return a state whose result has the value of the session at the same place and time, where it is recorded."""
    result, recorded = now.result, session.recorded
    if result is None or recorded is None or result.request.species not in recorded.names:
        return now
    index = next(
        (k for k, each in enumerate(recorded.moments) if abs(each.seconds - result.request.at) < 1.0), None
    )  # fmt: skip
    if index is None or isinstance(result.request.place, str):
        return now
    values = recorded.read(result.request.species, index, result.request.level, None)
    cell = _cell(session, *result.request.place)
    if cell is None or not all(0 <= each < size for each, size in zip(cell, values.shape, strict=True)):
        return now
    return now.model_copy(update={"result": result.model_copy(update={"recorded": float(values[cell])})})


def _cell(session: Session, lon: float, lat: float) -> tuple[int, int] | None:
    """Return row and column of a place on a map of longitudes and latitudes."""
    if session.shape.grid.kind != "lonlat":
        return None
    axes = {each.name: np.asarray(each.values) for each in session.shape.grid.coordinates}
    return int(np.abs(axes["lat"] - lat).argmin()), int(np.abs(axes["lon"] - lon).argmin())
