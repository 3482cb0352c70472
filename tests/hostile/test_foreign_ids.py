"""Every operation that names something by its id answers a stranger as if it did not exist, byte for byte."""

import re
from collections.abc import Mapping
from uuid import UUID, uuid4

import httpx2
import pytest

from openslot.access import operations as access
from openslot.accounts.models import User
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from openslot.exports import operations as exports
from tests.http.routes import OPERATIONS
from tests.support.host import clock, open_session, settings, stranger, user
from tests.support.rich_account import furnish

__all__ = ["clock", "settings", "stranger", "user"]

# Where the ids of a parameter are; with the beginning of a path, for parameters that mean several things.
TABLES = {
    "approval_id": "assistant_approvals",
    "away_id": "out_of_office",
    "booking_id": "bookings",
    "call_id": "calls",
    "contact_id": "contacts",
    "conversation_id": "conversations",
    "delivery_id": "webhook_deliveries",
    "effect_id": "effects",
    "endpoint_id": "webhook_endpoints",
    "entry_id": "wait_list_entries",
    "event_type_id": "event_types",
    "export_id": "data_exports",
    "grant_id": "assistant_grants",
    "import_id": "contact_imports",
    "key_id": "api_keys",
    "link_id": "booking_links",
    "message_id": "messages",
    "payment_id": "payments",
    "schedule_id": "schedules",
    "session_id": "sessions",
    "/settings/calendars connection_id": "calendar_connections",
    "/settings/crm connection_id": "crm_connections",
    "/settings/messages connection_id": "messaging_connections",
}
OTHERS = {"day": "2026-03-16", "position": "0"}
# Doors of other kinds, with tests of their own: links whose token is the right to use them, signed notices of vendors,
# administrators, SCIM, and organizations, which `tests/web/organization/test_matrix.py` is about.
ELSEWHERE = re.compile(
    r"/(admin|api/notices|api/scim|api/public|organization|connect|static|settings/reminders)/|.*\{token\}"
)
PUBLIC_NAMES = re.compile(r".*\{(username|team|name|slug|vendor)\}")
# To end a session that is none of one's own is no fault: the list is shown again.
NO_FAULT = {"POST /settings/sessions/{session_id}/end"}


def list_operations() -> list[tuple[str, str]]:
    paths = [(one.method, one.path) for one in OPERATIONS if "{" in one.path]
    return [each for each in paths if not ELSEWHERE.match(each[1]) and not PUBLIC_NAMES.match(each[1])]


def fill(path: str, ids: Mapping[str, str]) -> str:
    """Put ids into a path."""

    def find(match: re.Match[str]) -> str:
        name = match[1]
        for key in (name, f"{'/'.join(path.split('/')[:3])} {name}"):
            if key in ids:
                return ids[key]
        raise AssertionError(f"{path}: name the table of {name}")

    return re.sub(r"\{(\w+)\}", find, path)


async def find_ids(runtime: Runtime, owner: User) -> dict[str, str]:
    """Find something of the furnished account for every parameter."""
    found: dict[str, str] = dict(OTHERS)
    for key, table in TABLES.items():
        column = await runtime.pool.fetchval(
            """select attname from pg_attribute where attrelid = $1::text::regclass
            and attname in ('owner_id', 'user_id', 'host_id', 'tenant_id') limit 1""",
            table,
        )
        own = f"where {column} = '{owner.id}'" if column else ""
        row = await runtime.pool.fetchval(f"select id from {table} {own} order by id limit 1")
        assert isinstance(row, UUID), table
        found[key] = str(row)
    return found


@pytest.fixture
async def ids(runtime: Runtime, user: User) -> dict[str, str]:
    await furnish(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        await exports.request_export(work, user)
    return await find_ids(runtime, user)


async def ask(client: httpx2.AsyncClient, method: str, path: str, ids: Mapping[str, str]) -> tuple[int, bytes]:
    filled = fill(path, ids)
    content: bytes | None = None if method == "GET" else b"{}" if path.startswith("/api/") else b"x=y"
    kind = "application/json" if content == b"{}" else "application/x-www-form-urlencoded"
    answer = await client.request(method, filled, content=content, headers={"Content-Type": kind} if content else {})
    shown = answer.content
    for each in re.findall(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", filled.encode()):
        shown = shown.replace(each, b"ID")
    return answer.status_code, shown


async def test_what_is_another_hosts_looks_like_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, stranger: User, ids: dict[str, str]
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, stranger, name="test")
    client.headers.update(await open_session(runtime, stranger))
    unknown = {name: str(uuid4()) for name in ids} | OTHERS
    operations = list_operations()
    for method, path in operations:
        client.headers["Authorization"] = f"Bearer {key}" if path.startswith("/api/v1/") else ""
        theirs, none = [await ask(client, method, path, each) for each in (ids, unknown)]
        assert theirs == none, f"{method} {path}: {theirs[0]} and {none[0]}"
        assert theirs[0] in {400, 404} or f"{method} {path}" in NO_FAULT, f"{method} {path}: {theirs}"
    assert len(operations) > 100
