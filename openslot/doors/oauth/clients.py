"""Programs that ask for a connection: by the document at their address, or by a registration of their own."""

import re
from collections.abc import Iterable
from datetime import timedelta

import msgspec

from openslot.domains.accounts.models import User
from openslot.doors.http.bodies import UNREADABLE, check_depth
from openslot.doors.http.doors import take_own
from openslot.doors.oauth import store
from openslot.doors.oauth.errors import (
    AssistantNotFound,
    ClientDocumentUnavailable,
    InvalidClient,
    InvalidClientMetadata,
    InvalidRedirectUri,
    RegistrationClosed,
)
from openslot.doors.oauth.models import UNUSED_LASTS, AssistantClient, ClientDescription, ClientOrigin, ListedClient
from openslot.doors.oauth.rules import LONGEST_NAME, is_document_address, parse_redirect
from openslot.platform.core.errors import Invalid, RateLimited
from openslot.platform.core.ids import new_token
from openslot.platform.core.outbound import OutboundFailed, OutboundRefused, OutboundResponse
from openslot.platform.core.text import is_line, is_visible
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import RateLimit

FETCHES = RateLimit("assistant-documents", 20)
FETCH_WITHIN = timedelta(seconds=5)
LARGEST_DOCUMENT = 64 * 1024
SHORTEST_COPY, LONGEST_COPY = timedelta(minutes=5), timedelta(days=1)
MAX_AGE = re.compile(r"\bmax-age=\"?([0-9]{1,9})\b", re.ASCII)
MAX_REDIRECTS = 20
# The same for an address that is not public, that does not answer or that has none: nobody learns which names exist.
NO_DOCUMENT = Text("There is no description of a program at its address")
MAX_REGISTERED = 10_000


async def get_client(work: Work, user: User, client_id: str) -> AssistantClient:
    """Return a program by its id; its document is fetched if there is no fresh copy, without a transaction."""
    found = await store.find_client(work.db, client_id) if is_id(client_id) else None
    if not is_document_address(client_id):
        if found is None:
            raise InvalidClient
        return found
    if found is not None and found.expires_at > work.now:
        return found
    await take_own(work.runtime, FETCHES, user.id)
    client = await _fetch_document(work, client_id)
    await store.upsert_client(work.db, client)
    return client


def is_id(client_id: str) -> bool:
    return client_id.isascii() and client_id.isprintable() and 0 < len(client_id) <= 2000


async def _fetch_document(work: Work, address: str) -> AssistantClient:
    outbound = work.runtime.outbound.on_behalf_of(None)
    try:
        answer = await outbound.send(
            "GET",
            address,
            headers={"Accept": "application/json"},
            connect_within=FETCH_WITHIN,
            within=FETCH_WITHIN,
            at_most=LARGEST_DOCUMENT,
        )
    except (OutboundRefused, OutboundFailed):
        raise ClientDocumentUnavailable(NO_DOCUMENT) from None
    if answer.status != 200 or answer.truncated:
        raise ClientDocumentUnavailable(NO_DOCUMENT)
    try:
        described = read_description(answer.body)
        uris = _check_redirects(described.redirect_uris)
    except (InvalidClientMetadata, InvalidRedirectUri):
        raise ClientDocumentUnavailable(Text("The description of the program is not valid")) from None
    if described.client_id != address:
        raise ClientDocumentUnavailable(Text("The description at this address is that of another program"))
    return AssistantClient(
        id=address,
        origin=ClientOrigin.DOCUMENT,
        name=_read_name(described) or address,
        redirect_uris=uris,
        created_at=work.now,
        expires_at=work.now + _copy_lasts(answer),
    )


def _copy_lasts(answer: OutboundResponse) -> timedelta:
    """Keep a copy as long as its server says, within bounds: neither asked each time nor believed for good."""
    directives = answer.headers.get("cache-control", "")
    age = MAX_AGE.search(directives)
    if age is None or "no-store" in directives or "no-cache" in directives:
        return SHORTEST_COPY
    return min(max(timedelta(seconds=int(age[1])), SHORTEST_COPY), LONGEST_COPY)


def read_description(body: bytes) -> ClientDescription:
    try:
        check_depth(body)
        return msgspec.json.decode(body, type=ClientDescription)
    except msgspec.ValidationError as fault:
        raise InvalidClientMetadata(f"The description is not valid: {fault}") from None
    except (*UNREADABLE, Invalid):
        raise InvalidClientMetadata("The description is not valid JSON") from None


def _read_name(described: ClientDescription) -> str | None:
    """Return the name if it can be shown on one line."""
    name = described.client_name
    if not isinstance(name, str) or not is_line(name) or not is_visible(name):
        return None
    return name.strip()[:LONGEST_NAME]


def _check_redirects(uris: Iterable[str]) -> tuple[str, ...]:
    given = tuple(uris)
    if not 1 <= len(given) <= MAX_REDIRECTS:
        raise InvalidRedirectUri(f"redirect_uris must have 1 to {MAX_REDIRECTS} entries")
    for uri in given:
        if parse_redirect(uri) is None:
            raise InvalidRedirectUri(
                "redirect_uris must begin with https://, with http:// and 127.0.0.1, [::1] or localhost, or with the "
                "scheme of a program, such as com.example.app:/"
            )
    return given


async def register(work: Work, body: bytes) -> AssistantClient:
    """Register a program that says itself what it is; it is forgotten after a day, unless somebody connects it.

    If there are very many, the oldest that nobody has connected is forgotten at once, so that nobody keeps others out.
    """
    if not work.runtime.settings.assistant_registration:
        raise RegistrationClosed
    described = read_description(body)
    uris = _check_redirects(described.redirect_uris)
    is_full = await store.count_registered(work.db, at_most=MAX_REGISTERED) >= MAX_REGISTERED
    if is_full and not await store.delete_oldest_unused(work.db, now=work.now):
        raise RateLimited("Too many programs have registered. Try again later", retry_after=600)
    parsed = parse_redirect(uris[0])
    client = AssistantClient(
        id=f"client_{new_token()}",
        origin=ClientOrigin.REGISTERED,
        name=_read_name(described) or (parsed.site if parsed else uris[0]),
        redirect_uris=uris,
        created_at=work.now,
        expires_at=work.now + UNUSED_LASTS,
    )
    await store.upsert_client(work.db, client)
    return client


async def list_clients(work: Work, *, limit: int = 1000) -> list[ListedClient]:
    """List the programs that are known, newest first, and how many users have connected each."""
    return await store.list_clients(work.db, now=work.now, limit=limit)


async def forget_client(work: Work, client_id: str) -> None:
    if not await store.delete_client(work.db, client_id):
        raise AssistantNotFound
