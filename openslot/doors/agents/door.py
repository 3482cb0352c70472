"""The agents' door: an agent's key, and the protocol of all tool servers."""

from openslot.domains.access.models import CredentialKind
from openslot.doors.http.doors import JSON, Door, enter_with
from openslot.doors.http.security import api_headers
from openslot.doors.mcp.door import MAX_BYTES, admit, refuse_with_rpc
from openslot.platform.core.config import Settings

PATH = "/api/admin/agent-mcp"


def agent_door(settings: Settings) -> Door:
    return Door(
        name="agents",
        prefixes=(f"{PATH}/", PATH),
        enter=enter_with(CredentialKind.AGENT_KEY),
        refuse=refuse_with_rpc,
        media_types=(JSON,),
        max_bytes=MAX_BYTES,
        headers=api_headers(settings),
        admit=admit,
    )
