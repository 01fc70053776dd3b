"""Routes of data: frames, differences, pictures, netCDF, Zarr, coasts and cities."""

import asyncio
import re
from dataclasses import replace
from math import isfinite
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from airshed.core.errors import CaseError
from airshed.serve.fields.maps import Lines, cities_of, graticule_of, lines_frame, places_frame
from airshed.serve.fields.published import Copy, Selection, Session
from airshed.serve.model.requests import Requests
from airshed.serve.protocol import types
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.protocol.frames import MEDIA_TYPE
from airshed.serve.protocol.values import Encoding
from airshed.serve.records.recording import RecordedFields, selected

_MOST = 100
"""Most variables in a response."""

Binary = dict[int | str, dict[str, Any]]


def responses(media_type: str) -> Binary:
    """Return the description of a response with bytes of a media type."""
    return {200: {"content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}}


async def selection(
    level: Annotated[int | None, Query(ge=0, le=2**31)] = None,
    window: Annotated[str | None, Query(pattern=r"^[0-9]{1,9}(,[0-9]{1,9}){3}$")] = None,
    stride: Annotated[int, Query(ge=1, le=10_000)] = 1,
    encoding: Encoding = "float32",
    range: Annotated[str | None, Query(max_length=100)] = None,
    compress: bool = False,
) -> Selection:
    """Return the requested part of a field, and its encoding."""
    box: Any = None if window is None else tuple(int(each) for each in window.split(","))
    return Selection(level, box, stride, encoding, _range(range), compress)


def _range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(each) for each in text.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise CaseError(f"range = {text!r} is invalid; give two increasing numbers, as in range=0,1e-7")
    return low, high


Chosen = Annotated[Selection, Depends(selection)]
Instant = Annotated[float | None, Query(allow_inf_nan=False)]
Names = Annotated[str, Query(max_length=10_000)]


def data_routes(requests: Requests) -> APIRouter:
    """Return the routes of frames."""
    routes = APIRouter(prefix="/api/sessions/{session}", default_response_class=Response)

    @routes.get("/data", responses=responses(MEDIA_TYPE))
    async def several(session: str, variables: Names, chosen: Chosen) -> Response:
        """Return frames of several variables, whose names are separated by commas."""
        found = requests.session(session)
        copies = await _copies(requests, session, variables)
        return Response(b"".join(found.frame(each, chosen) for each in copies.values()), media_type=MEDIA_TYPE)

    @routes.get("/data/{variable}", responses=responses(MEDIA_TYPE))
    async def one(session: str, variable: str, chosen: Chosen) -> Response:
        """Return a frame of a variable."""
        copy = await requests.copy(session, variable)
        return Response(requests.session(session).frame(copy, chosen), media_type=MEDIA_TYPE)

    @routes.get("/compare/{variable}", responses=responses(MEDIA_TYPE))
    async def compare(
        session: str, variable: str, chosen: Chosen, other: Annotated[str, Query(alias="with")]
    ) -> Response:
        """Return a frame of this session's values minus those of another session."""
        copy = await requests.copy(session, variable, other)
        found = requests.session(session).frame(copy, replace(chosen, less=other))
        return Response(found, media_type=MEDIA_TYPE)

    @routes.get("/recording", response_model=types.RecordingInfo)
    async def recording(session: str) -> Response:
        """Return the recorded variables and times of a session."""
        found = recorded_of(requests.session(session))
        await asyncio.to_thread(found.flush)
        info = types.RecordingInfo(every=found.every, variables=list(found.names), moments=list(found.moments))
        return Response(info.model_dump_json(), media_type="application/json")

    @routes.get("/recording/{variable}", responses=responses(MEDIA_TYPE))
    async def records(
        session: str, variable: str, chosen: Chosen, since: Instant = None, at: Instant = None
    ) -> Response:
        """Return frames of a variable at all recorded times, at those after `since` [s], or at the last one to `at`."""
        found = requests.session(session)
        recorded = recorded_of(found)

        def frames() -> bytes:
            recorded.flush()
            parts = selected(recorded, found.shape, variable, chosen, since, at)
            return b"".join(found.recorded_frame(variable, moment, values, chosen) for moment, values in parts)

        return Response(await asyncio.to_thread(frames), media_type=MEDIA_TYPE)

    @routes.get("/geography/cities", response_model=list[types.City])
    async def cities(session: str) -> Response:
        """Return the largest cities of the map."""
        found = requests.session(session)
        text = ",".join(each.model_dump_json() for each in await asyncio.to_thread(cities_of, found))
        return Response(f"[{text}]", media_type="application/json")

    @routes.get("/geography/places", responses=responses(MEDIA_TYPE))
    async def places(session: str) -> Response:
        """Return longitude, latitude and rotation of the cells of a projected map as a frame."""
        found = requests.session(session)
        return Response(await asyncio.to_thread(places_frame, found), media_type=MEDIA_TYPE)

    @routes.get("/geography/graticule", response_model=list[types.GraticuleLine])
    async def degrees(session: str) -> Response:
        """Return meridians and parallels of a projected map."""
        found = await asyncio.to_thread(graticule_of, requests.session(session))
        return Response(f"[{','.join(each.model_dump_json() for each in found)}]", media_type="application/json")

    @routes.get("/geography/{which}", responses=responses(MEDIA_TYPE))
    async def lines(session: str, which: Lines) -> Response:
        """Return land, coast lines or borders of the map and its surroundings as a frame of points."""
        found = requests.session(session)
        return Response(await asyncio.to_thread(lines_frame, found, which), media_type=MEDIA_TYPE)

    return routes


def recorded_of(session: Session) -> RecordedFields:
    """Return the recording of a session; raises NotThereError without one."""
    if session.recorded is None:
        raise NotThereError(f"session {session.name} records no fields: its case has no output with a map")
    return session.recorded


def file_routes(requests: Requests) -> APIRouter:
    """Return the routes of pictures and files."""
    routes = APIRouter(prefix="/api/sessions/{session}", default_response_class=Response)

    @routes.get("/png/{variable}", responses=responses("image/png"))
    async def picture(
        session: str, variable: str, level: Annotated[int, Query(ge=0, le=2**31)] = 0,
        other: Annotated[str | None, Query(alias="with")] = None,
    ) -> Response:  # fmt: skip
        """Return a map as a picture, or with another session a map of the difference."""
        from airshed.serve.fields.maps import picture_of

        found = requests.session(session)
        copy = await requests.copy(session, variable, other)
        found.shape.check(copy.variable, level, None)
        return Response(await asyncio.to_thread(picture_of, found, copy, level, other), media_type="image/png")

    @routes.get("/netcdf", responses=responses("application/netcdf"))
    async def file(
        session: str, variables: Names, recorded: bool = False, at: Instant = None,
        level: Annotated[int | None, Query(ge=0, le=2**31)] = None,
    ) -> Response:  # fmt: skip
        """Return variables as a netCDF file, whose history is the log of commands.

        They are those of the present state, of the last recorded hour up to a time, or of all hours with `recorded`.
        """
        from airshed.serve.fields.formats import netcdf
        from airshed.serve.records.netcdf import recorded_netcdf

        found = requests.session(session)
        if recorded or at is not None:
            names = _names(variables)
            made = await asyncio.to_thread(recorded_netcdf, found, recorded_of(found), names, at, level)
            return Response(made, media_type="application/netcdf")
        copies = await _copies(requests, session, variables)
        made = await asyncio.to_thread(netcdf, found, copies)
        words = [found.state.case, found.state.scenario, str(found.state.step)]
        name = "-".join(filter(None, map(_plain, words)))
        attached = {"Content-Disposition": f'attachment; filename="{name}.nc"'}
        return Response(made, media_type="application/netcdf", headers=attached)

    @routes.get("/zarr/{key:path}", responses=responses("application/octet-stream"))
    async def zarr(session: str, key: str) -> Response:
        """Return the value of a key of a Zarr v3 store of the present state."""
        from airshed.serve.fields.formats import value_of

        content, media_type = await value_of(requests, session, key)
        return Response(content, media_type=media_type)

    return routes


def _plain(name: str) -> str:
    """Return a name as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.")


def _names(variables: str) -> list[str]:
    """Return the names of variables that are separated by commas."""
    names = variables.split(",")
    if len(names) > _MOST:
        raise CaseError(f"{len(names)} variables are too many for a response; request at most {_MOST}")
    return names


async def _copies(requests: Requests, session: str, variables: str) -> dict[str, Copy]:
    """Return copies of several variables, all of the same version."""
    names = _names(variables)
    for _ in range(10):
        found = dict(zip(names, await asyncio.gather(*(requests.copy(session, each) for each in names)), strict=True))
        if len({copy.state.version for copy in found.values()}) == 1:
            return found
    raise NotThereError("the model advances too fast for this many variables of one time; pause it")
