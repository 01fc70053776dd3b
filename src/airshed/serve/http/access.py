"""Routes of access: the role of a client, and requests for access with their answers."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from airshed.serve.access.gate import role_of_request
from airshed.serve.access.waiting import AccessRequests
from airshed.serve.protocol import access

_NO_STORE = {"Cache-Control": "no-store"}


def access_routes(requests: AccessRequests) -> APIRouter:
    """Return the routes. `request` and `answer` need no token; of the others, readers may use the first alone."""
    routes = APIRouter(prefix="/api/access")

    @routes.get("")
    async def role(response: Response) -> access.Access:
        """Return the role of the client, the token for readers, and the requests for access that wait."""
        response.headers.update(_NO_STORE)
        own = role_of_request.get()
        return access.Access(
            role=own, watch=requests.tokens.watch, waiting=requests.waiting() if own == "control" else []
        )

    @routes.post("/request")
    async def ask(request: Request, given: access.AskAccess) -> access.AccessTicket:
        """Request access without a token."""
        return requests.ask(given.name, given.role, request.client.host if request.client else "")

    @routes.post("/answer")
    async def answer(given: access.AnswerRequest, response: Response) -> access.AccessAnswer:
        """Return the answer to a request for access."""
        response.headers.update(_NO_STORE)
        return requests.answer_to(given.ticket)

    @routes.post("/requests/{number}")
    async def decide(number: Annotated[int, Path(ge=0, le=2**31)], decision: access.AccessDecision) -> None:
        """Grant or refuse a request for access."""
        requests.decide(number, decision.role)

    @routes.delete("/requests")
    async def refuse_all() -> None:
        """Refuse all requests for access, and accept none for an hour."""
        requests.refuse_all()

    return routes
