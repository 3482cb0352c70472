"""Fields that nobody has asked for: the API refuses them, providers' and pages' are ignored, and none is stored."""

from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, Book, book, meeting, settings
from tests.support.clocks import clock
from tests.support.host import open_session
from tests.support.provisioning import Provider, found_organization

__all__ = ["book", "clock", "meeting", "settings"]

NOBODY = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"
WORD = "swordfish"
# What would be of use to somebody, if it were stored: another's id, a better plan, more rights, an earlier day.
GREEDY = {
    "id": NOBODY,
    "ownerId": NOBODY,
    "hostId": NOBODY,
    "userId": NOBODY,
    "organizationId": NOBODY,
    "plan": "ENTERPRISE",
    "isAdmin": True,
    "admin": True,
    "role": "OWNER",
    "status": "CANCELLED",
    "createdAt": "2001-01-01T00:00:00Z",
    "password": WORD,
}
SNAKES = {"owner_id": NOBODY, "user_id": NOBODY, "is_admin": "true", "password_hash": WORD, "plan_until": "2099-01-01"}
INVITEE = {"inviteeName": "Li", "inviteeEmail": "li@okafor.example", "inviteeTimezone": "UTC"}
# By operation, a body that is taken as it is.
SOUND: dict[str, dict[str, Any]] = {
    "POST /api/v1/contacts": {"name": "Li", "email": "li@okafor.example"},
    "PATCH /api/v1/contacts/{contact_id}": {"company": "Harbor"},
    "POST /api/v1/bookings": {"eventTypeSlug": "meeting", "startTime": ELEVEN, **INVITEE},
    "POST /api/v1/bookings/{booking_id}/cancel": {"reason": "Ill"},
    "PATCH /api/v1/bookings/{booking_id}/reschedule": {"newStartTime": ELEVEN},
    "POST /api/v1/event-types/{event_type_id}/links": {},
    "POST /api/public/holds": {"eventTypeId": "{event_type_id}", "startTime": ELEVEN},
    "POST /api/bookings": {"eventTypeId": "{event_type_id}", "startTime": ELEVEN, **INVITEE},
}


async def dump(runtime: Runtime) -> dict[str, list[str]]:
    """Read every row of every table, without what a request leaves by being asked."""
    tables = await runtime.pool.fetch("select tablename as name from pg_tables where schemaname = 'public' order by 1")
    return {
        table["name"]: sorted(
            row["told"] for row in await runtime.pool.fetch(f'select t::text as told from "{table["name"]}" t')
        )
        for table in tables
        if table["name"] not in {"rate_log", "api_keys"}
    }


async def told_in(runtime: Runtime, word: str) -> set[str]:
    """Name the tables that hold a word."""
    return {name for name, rows in (await dump(runtime)).items() if any(word in row for row in rows)}


@pytest.mark.parametrize("operation", SOUND)
async def test_the_api_refuses_each_by_its_name_and_changes_nothing(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    bearer: dict[str, str],
    meeting: EventType,
    book: Book,
    operation: str,
) -> None:
    booking_id = (await book(TEN)).json()["bookingId"]
    contact_id = await runtime.pool.fetchval("select id from contacts")
    ids = {"booking_id": booking_id, "contact_id": contact_id, "event_type_id": meeting.id}
    method, path = operation.split()
    body = {name: value.format(**ids) if isinstance(value, str) else value for name, value in SOUND[operation].items()}
    before = await dump(runtime)
    refused = await client.request(method, path.format(**ids), json={**GREEDY, **body}, headers=bearer)

    assert refused.status_code == 400
    assert refused.json()["details"] == dict.fromkeys(GREEDY, "is not a known field")
    assert await dump(runtime) == before
    assert (await client.request(method, path.format(**ids), json=body, headers=bearer)).is_success


async def test_what_an_identity_provider_sends_beside_a_user_is_ignored(
    client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    _, token = await found_organization(runtime, "harbor", "harbor.example")
    provider = Provider(client, token)
    greedy = {**GREEDY, **SNAKES, "meta": {"created": "2001-01-01T00:00:00Z"}, "x": {WORD: [WORD]}}
    made = await provider.create("li@harbor.example", **greedy)
    whole = {"userName": "li@harbor.example", "displayName": "Li", **greedy}
    replaced = await provider.send("PUT", f"/Users/{made['id']}", whole)

    assert (replaced.status_code, made["id"] != NOBODY) == (200, True)
    row = await runtime.pool.fetchrow(
        "select u.plan, u.is_admin, u.password_hash, m.role from users u join memberships m on m.user_id = u.id"
    )
    assert row is not None
    assert dict(row) == {"plan": "FREE", "is_admin": False, "password_hash": None, "role": "member"}
    assert await told_in(runtime, WORD) | await told_in(runtime, NOBODY) == set()


async def test_what_a_form_sends_beside_its_fields_is_ignored(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    session = await open_session(runtime, user)
    (before,) = await runtime.pool.fetch("select * from users")
    greedy = {name: str(value) for name, value in {**GREEDY, **SNAKES}.items()}
    form = {**greedy, "name": "Mara L.", "timezone": "Asia/Tokyo", "locale": "de"}
    answer = await client.post("/settings/profile", data=form, headers=session)
    (after,) = await runtime.pool.fetch("select * from users")

    assert (answer.status_code, answer.headers["location"]) == (303, "/settings/profile?done=saved")
    changed = {name for name, value in dict(after).items() if before[name] != value}
    assert {"name", "zone", "locale"} <= changed <= {"name", "zone", "locale", "updated_at", "version"}
    assert await told_in(runtime, WORD) | await told_in(runtime, NOBODY) == set()
