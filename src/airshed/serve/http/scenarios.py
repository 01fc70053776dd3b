"""The route of the effect of a scenario."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from airshed.serve.model.requests import Requests
from airshed.serve.protocol.effect import Effect

_NUMBER: Final = r"-?[0-9]{1,3}(\.[0-9]{0,12})?"
_PLACES: Final = f"^{_NUMBER},{_NUMBER}(;{_NUMBER},{_NUMBER}){{0,99}}$"
"""Longitudes and latitudes of places, such as 6.96,50.94;2.35,48.85."""


def scenario_routes(requests: Requests) -> APIRouter:
    """Return the routes of scenarios."""
    routes = APIRouter(prefix="/api/sessions/{session}", default_response_class=Response)

    @routes.get("/effect", response_model=Effect)
    async def effect(
        session: str,
        other: str,
        variable: str,
        level: Annotated[int, Query(ge=0, le=2**31)] = 0,
        country: Annotated[str, Query(max_length=100)] = "",
        places: Annotated[str | None, Query(pattern=_PLACES, max_length=4000)] = None,
        threshold: Annotated[float | None, Query(ge=0, allow_inf_nan=False)] = None,
    ) -> Response:
        """Return the effect of a run on a field compared with another run, from the recorded hours of both."""
        from airshed.serve.scenarios.effect import effect_of

        one, two = requests.session(session), requests.session(other)
        numbers = [float(each) for each in (places or "").replace(";", ",").split(",") if each]
        at = list(zip(numbers[::2], numbers[1::2], strict=True))
        found = await asyncio.to_thread(
            effect_of, one, two, variable, level, country=country, places=at, threshold=threshold
        )
        return Response(found.model_dump_json(), media_type="application/json")

    return routes
