"""Routes of stations: list, series and scores."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from airshed.serve.http.data import Instant
from airshed.serve.model.requests import Requests
from airshed.serve.protocol import stations as documents
from airshed.serve.protocol import types
from airshed.serve.stations.comparison import StationComparison

Variable = Annotated[str, Query(min_length=1, max_length=200)]


def station_routes(requests: Requests, comparison: StationComparison) -> APIRouter:
    """Return the routes of stations."""
    routes = APIRouter(prefix="/api/sessions/{session}/stations", default_response_class=Response)

    @routes.get("", response_model=documents.StationList)
    async def stations(session: str) -> Response:
        """Return the stations within the map and the period of a session."""
        return _json(await asyncio.to_thread(comparison.stations, requests.session(session)))

    @routes.get("/pairs", response_model=documents.StationPairs)
    async def pairs(session: str, variable: Variable) -> Response:
        """Return the observed and modelled series of a species at all stations."""
        return _json(await asyncio.to_thread(comparison.pairs, requests.session(session), variable))

    @routes.get("/scores", response_model=documents.StationScores)
    async def scores(session: str, variable: Variable, until: Instant = None) -> Response:
        """Return bias, correlation and RMSE up to a time [s], in total, by class and by station."""
        return _json(await asyncio.to_thread(comparison.scores, requests.session(session), variable, until))

    @routes.get("/{station}", response_model=documents.StationSeries)
    async def series(session: str, station: str, variable: Variable) -> Response:
        """Return the observed and modelled series of a species at a station."""
        return _json(await asyncio.to_thread(comparison.series, requests.session(session), station, variable))

    return routes


def _json(document: types.Document) -> Response:
    return Response(document.model_dump_json(), media_type="application/json")
