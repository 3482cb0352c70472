"""The one endpoint of the tool server."""

from openslot.access.models import AgentEntry
from openslot.agents.protocol import RpcContext, answer_body
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.routing import Response, post


@post("", transaction="none", summary="Call the tool server")
async def call_tool_server(work: Work, entry: AgentEntry, request: Exchange) -> Response:
    """Answer JSON-RPC messages of the Model Context Protocol."""
    context = RpcContext(runtime=work.runtime, entry=entry, request_id=request.request_id, headers=request.headers)
    return await answer_body(context, request.body)
