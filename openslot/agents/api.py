"""The one endpoint of the tool server."""

from typing import cast

from openslot.access.models import AgentEntry
from openslot.agents.answering import Arrival, answer_body
from openslot.agents.door import PATH
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.routing import Mount, Request, Response, post


@post("", transaction="none", summary="Call the tool server", operation_id="callToolServer")
async def call_tool_server(work: Work, request: Request) -> Response:
    """Answer JSON-RPC messages of the Model Context Protocol."""
    exchange = cast("Exchange", request)
    arrival = Arrival(
        runtime=work.runtime,
        entry=cast("AgentEntry", exchange.entry),
        request_id=exchange.request_id,
        headers=exchange.headers,
    )
    return await answer_body(arrival, exchange.body)


AGENT_ROUTES = Mount(prefix=PATH, handlers=[call_tool_server])
