"""No page of bookings shows another host's data."""

from collections.abc import Iterator

import httpx2

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.support.clocks import MovingClock
from tests.support.forms import NOBODY
from tests.support.host import TEN, Book, fail, listen

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
    for handler in collect("openslot.doors.web.dashboard"):
        if handler.__module__.split(".")[4] in WITH_OWN_TESTS:
            continue
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            yield declaration.path.replace("{booking_id}", str(booking)).replace("{effect_id}", str(effect))


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
