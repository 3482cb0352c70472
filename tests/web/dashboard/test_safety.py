"""No page shows another host's data, no form of another site is taken, and no stored text becomes markup."""

from collections.abc import Iterator
from uuid import UUID

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.routing import collect, find_declaration
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.forms import NOBODY, from_other_sites
from tests.support.host import ELEVEN, TEN, Book, cancel, fail, listen, move
from tests.support.hostile_text import CORPUS, check_pages
from tests.support.page import read_page

WITH_OWN_TESTS = frozenset(
    (
        *(
            "availability",
            "branding",
            "calendars",
            "calls",
            "contacts",
            "crm",
            "crm_fields",
            "message_files",
            "talks",
            "event_types",
            "notifications",
            "numbers",
        ),
        *("onboarding", "payment_account", "payments", "profile", "reminders", "security", "webhooks", "your_data"),
    )
)


def paths(method: str, *, booking: object = NOBODY, effect: object = NOBODY) -> Iterator[str]:
    for handler in collect("openslot.web.dashboard"):
        if handler.__module__.split(".")[3] in WITH_OWN_TESTS:
            continue
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            yield declaration.path.replace("{booking_id}", str(booking)).replace("{effect_id}", str(effect))


def test_every_form_of_the_dashboard_is_known_here() -> None:
    assert len(list(paths("POST"))) == 17
    assert len(list(paths("GET"))) == 17


async def test_a_form_of_another_site_is_refused_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    booking = await book()
    effect = await fail(runtime, clock)
    sent = {
        "start": "2026-03-16T12:00:00Z",
        "type": "30min",
        "name": "Eve",
        "email": "eve@evil.example",
        "timezone": "UTC",
    }
    for path, headers in from_other_sites(paths("POST", booking=booking.id, effect=effect)):
        answer = await member.post(path, data=sent, headers=headers)

        assert answer.status_code == 403, (path, headers)
        assert "sent from another site" in read_page(answer).text

    rows = await runtime.pool.fetch("select status, starts_at from bookings")
    assert [(row["status"], row["starts_at"]) for row in rows] == [("CONFIRMED", TEN)]
    assert await runtime.pool.fetchval("select state from effects where id = $1", UUID(effect)) == "dead"


async def test_without_a_session_every_page_asks_to_sign_in(client: httpx2.AsyncClient, book: Book) -> None:
    booking = await book()
    for path in paths("GET", booking=booking.id):
        answer = await client.get(path)

        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login")
    for path in paths("POST", booking=booking.id):
        answer = await client.post(path, data={"start": "2026-03-16T12:00:00Z"})

        assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/")


async def test_another_hosts_booking_is_the_same_404_as_none(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, stranger)
    theirs = await book(host=stranger)
    effect = await fail(runtime, clock)
    for method in ("GET", "POST"):
        known, unknown = paths(method, booking=theirs.id, effect=effect), paths(method)
        for path, nothing in zip(known, unknown, strict=True):
            if path == nothing:
                continue
            data = {"start": "2026-03-16T12:00:00Z"} if method == "POST" else None
            answer = await member.request(method, path, data=data)
            other = await member.request(method, nothing, data=data)

            assert answer.status_code == 404, path
            assert answer.text == other.text
    assert await runtime.pool.fetchval("select starts_at from bookings") == TEN


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_text_stays_text(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book, text: str
) -> None:
    moved, gone = await book(notes="x", guests=("li@okafor.example",)), await book(ELEVEN)
    await listen(runtime, user)
    await move(runtime, moved, TEN.replace(hour=13))
    await cancel(runtime, gone)
    await work_off(runtime, clock)
    await fail(runtime, clock)
    await spoil(runtime, user, text)
    addresses = [
        *paths("GET", booking=moved.id),
        *paths("GET", booking=gone.id),
        "/bookings?view=cancelled",
        "/bookings?q=%22%3E%3Cxss-probe%3E&from=%22%3E%3Cxss-probe%3E",
        "/bookings/new?type=30min",
    ]
    pages = [await member.get(path) for path in addresses if not path.endswith(".csv")]
    sent = {"type": "30min", "start": text, "name": text, "email": text, "timezone": text, "notes": text, "day": text}
    pages += [await member.post("/bookings", data=sent), await member.post("/bookings", data={**sent, "type": text})]
    pages.append(await member.post(f"/bookings/{moved.id}/reschedule", data={"start": text, "reason": text}))
    pages.append(await member.post(f"/bookings/{moved.id}/cancel", data={"reason": text * 100}))
    selected = {"id": [str(moved.id), str(gone.id)]}
    pages += [await member.post(f"/bookings/selected/{action}", data=selected) for action in ("cancel", "no-show")]
    assert check_pages(pages) > 10


async def spoil(runtime: Runtime, user: User, text: str) -> None:
    """Put a text into every field that a page of the dashboard shows, past every check."""
    await runtime.pool.execute(
        """update bookings set invitee_name = $1, invitee_email = $1, notes = $1, guests = array[$1],
            location = jsonb_build_object('kind', 'in_person', 'value', $1::text),
            answers = jsonb_build_object($1::text, $1::text),
            cancel_reason = case when status = 'CANCELLED' then $1 end""",
        text,
    )
    await runtime.pool.execute(
        """update event_types set name = $1, questions = jsonb_build_array(jsonb_build_object(
            'key', $1::text, 'label', $1::text))""",
        text,
    )
    await runtime.pool.execute("update contacts set phone = $1, company = $1, name = $1", text)
    await runtime.pool.execute("update users set name = $2 where id = $1", user.id, text)
    await runtime.pool.execute("update effects set last_error = $1, target = 'invitee:' || $1", text)
    await runtime.pool.execute(
        """update events set fact = jsonb_set(fact, '{reason}', to_jsonb($1::text))
        where type = 'booking.rescheduled'""",
        text,
    )
    await runtime.pool.execute("update webhook_endpoints set url = $1, state = 'disabled', state_reason = $1", text)
    await runtime.pool.execute(
        """insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, failing_since,
            told_at, last_error, created_at) values ($1, $2, 'caldav', '', $3, '', $4, $4, $4, $3, $4)""",
        UUID(NOBODY),
        user.id,
        text,
        TEN,
    )
