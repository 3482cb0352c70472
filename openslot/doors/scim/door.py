"""The SCIM door: an organization's token, errors as RFC 7644 writes them, and a log of what was asked."""

from uuid import UUID

import asyncpg
import msgspec
import structlog
from msgspec import Struct

from openslot.domains.access.models import CredentialKind
from openslot.doors.http.bodies import shown
from openslot.doors.http.doors import JSON, Door, Exchange, enter_with
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.http.security import api_headers
from openslot.doors.scim.errors import ScimType
from openslot.doors.scim.models import NewRequest
from openslot.doors.scim.operations import log_request
from openslot.doors.scim.resources import NOTICE
from openslot.platform.core.actor import ActorKind
from openslot.platform.core.config import Settings
from openslot.platform.core.db import DOWN
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.outages import reason
from openslot.platform.routing import Response

PREFIX = "/api/scim/v2"
SCIM = "application/scim+json"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"

log = structlog.get_logger()


class _LoggedNames(Struct, rename="camel"):
    """The part of an answer that the log keeps."""

    id: str | None = None
    user_name: str | None = None
    display_name: str | None = None
    detail: str | None = None


def scim_door(settings: Settings) -> Door:
    return Door(
        name="scim",
        prefixes=(f"{PREFIX}/", PREFIX),
        enter=enter_with(CredentialKind.SCIM_TOKEN),
        refuse=refuse_with_scim,
        media_types=(SCIM, JSON),
        answers_in=SCIM,
        headers=api_headers(settings),
        answered=_keep_log,
    )


def refuse_with_scim(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse as RFC 7644 section 3.12 says."""
    status = status_of(refusal)
    faults = "; ".join(f"{field} {words}" for field, words in (refusal.details or {}).items())
    detail = f"{refusal.message}: {faults}" if faults else refusal.message
    body: dict[str, object] = {"schemas": [ERROR], "status": str(status), "detail": detail}
    scim_type = _type_of(refusal)
    if scim_type is not None:
        body["scimType"] = scim_type
    headers = {"content-type": SCIM, "x-error-code": refusal.code, **headers_of(refusal)}
    return Response(status=status, headers=headers, body=msgspec.json.encode(body))


def _type_of(refusal: Refusal) -> str | None:
    if isinstance(refusal, ScimType):
        return refusal.scim_type
    if not isinstance(refusal, Invalid):
        return None
    return "invalidSyntax" if "body" in (refusal.details or {}) else "invalidValue"


async def _keep_log(exchange: Exchange, response: Response) -> None:
    """Log the request and its answer; if logging fails, the answer is sent all the same."""
    actor = exchange.entry.actor
    if actor.kind is not ActorKind.SCIM or actor.credential_id is None:
        return
    names = _read_names(exchange, response)
    # What a request that was carried out has left undone.
    notice = None if exchange.method == "GET" else response.headers.get(NOTICE)
    values = exchange.found[1] if exchange.found else ()
    named = next((value for value in (*values, names.id or "") if SHAPE.fullmatch(value)), None)
    request = NewRequest(
        token_id=actor.credential_id,
        at=exchange.runtime.clock(),
        method=exchange.method,
        path=shown(exchange.path.removeprefix(PREFIX) or "/"),
        status=response.status,
        member_id=UUID(named) if named else None,
        user_name=names.user_name or names.display_name,
        detail=(names.detail or notice or "")[:500] or None,
    )
    try:
        await log_request(exchange.runtime, request)
    except (*DOWN, asyncpg.PostgresError) as fault:
        log.warning("SCIM request not logged", error=reason(fault))


def _read_names(exchange: Exchange, response: Response) -> _LoggedNames:
    is_list = response.status < 400 and (exchange.method == "GET" and not (exchange.found and exchange.found[1]))
    if is_list or not isinstance(response.body, bytes) or not response.body:
        return _LoggedNames()
    try:
        return msgspec.json.decode(response.body, type=_LoggedNames)
    except msgspec.DecodeError:
        return _LoggedNames()
