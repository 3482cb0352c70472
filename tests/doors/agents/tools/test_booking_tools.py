"""Tools on bookings: the same bookings as on REST, of all hosts, and changed by the same verbs."""

from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, Book, offer, slots
from tests.doors.agents.tools.conftest import Run, events
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.races import find_disorder

NOBODY = str(new_id())


@pytest.fixture
async def two_hosts(runtime: Runtime, client: httpx2.AsyncClient, admin: User, book: Book) -> list[str]:
    """Three bookings of one host and two of another, latest start first."""
    for hour in (10, 12, 14):
        assert (await book(f"2026-03-16T{hour}:00:00Z")).status_code == 200
    theirs = await offer(runtime, admin, "other")
    for hour in (11, 13):
        body = {
            "eventTypeId": str(theirs.id),
            "startTime": f"2026-03-16T{hour}:00:00Z",
            "inviteeName": "Noor Haddad",
            "inviteeEmail": "noor@haddad.example",
            "inviteeTimezone": "UTC",
        }
        assert (await client.post("/api/bookings", json=body)).status_code == 200
    return [str(row["id"]) for row in await runtime.pool.fetch("select id from bookings order by starts_at desc")]


async def ids(run: Run, **given: Any) -> list[str]:
    return [row["id"] for row in (await run("list_bookings", **given))["data"]]


async def test_one_hosts_bookings_are_those_of_the_rest_api(
    run: Run, client: httpx2.AsyncClient, bearer: dict[str, str], user: User, two_hosts: list[str]
) -> None:
    del two_hosts
    listed = (await client.get("/api/v1/bookings", headers=bearer)).json()
    for row in listed["data"]:
        del row["manageUrl"]
        row["userId"] = str(user.id)

    assert await run("list_bookings", userId=str(user.id)) == listed
    detail = (await client.get(f"/api/v1/bookings/{listed['data'][0]['id']}", headers=bearer)).json()
    del detail["manageUrl"]
    assert await run("get_booking", bookingId=detail["id"]) == detail | {"userId": str(user.id)}


async def test_no_tool_gives_away_the_link_by_which_a_booking_is_changed(run: Run, two_hosts: list[str]) -> None:
    shown = [await run("list_bookings"), await run("get_booking", bookingId=two_hosts[0])]

    assert "manage" not in str(shown)


async def test_all_hosts_bookings_are_listed_filtered_and_paged(
    run: Run, runtime: Runtime, user: User, admin: User, two_hosts: list[str]
) -> None:
    await run("cancel_booking", bookingId=two_hosts[2])
    hosts = {
        str(row["id"]): str(row["host_id"]) for row in await runtime.pool.fetch("select id, host_id from bookings")
    }
    everyone = await run("list_bookings")

    assert [row["id"] for row in everyone["data"]] == two_hosts
    assert [row["userId"] for row in everyone["data"]] == [hosts[each] for each in two_hosts]
    assert everyone["pagination"] == {"page": 1, "limit": 20, "total": 5, "totalPages": 1}
    assert await ids(run, limit=2, page=2) == two_hosts[2:4]
    assert await ids(run, limit=2, page=9) == []
    assert (await run("list_bookings", limit=2, page=9))["pagination"]["total"] == 5
    assert await ids(run, status="cancelled") == [two_hosts[2]]
    confirmed = await run("list_bookings", status="CONFIRMED")
    assert (confirmed["pagination"]["total"], len(confirmed["data"])) == (4, 4)
    noon = {"from": "2026-03-16T12:00:00Z", "to": "2026-03-16T13:00:00Z"}
    assert await ids(run, **noon) == two_hosts[1:3]
    assert await ids(run, **noon, status="CONFIRMED") == [two_hosts[1]]
    assert (await run("list_bookings", **noon))["pagination"]["total"] == 2
    assert await ids(run, userId=str(admin.id)) == [each for each in two_hosts if hosts[each] == str(admin.id)]
    assert await ids(run, userId=str(user.id), status="CANCELLED") == [
        each for each in [two_hosts[2]] if hosts[each] == str(user.id)
    ]


async def test_a_booking_that_waits_for_its_payment_is_not_shown(
    run: Run, runtime: Runtime, two_hosts: list[str]
) -> None:
    await runtime.pool.execute("update bookings set status = 'PENDING_PAYMENT' where id = $1::text::uuid", two_hosts[0])

    assert await ids(run) == two_hosts[1:]
    assert (await run("list_bookings"))["pagination"]["total"] == 4
    assert (await run("list_bookings", **{"from": "2026-03-16"}))["pagination"]["total"] == 4
    with pytest.raises(Refusal):
        await run("get_booking", bookingId=two_hosts[0])


async def test_an_agents_cancellation_is_told_like_every_other(
    run: Run,
    runtime: Runtime,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    book: Book,
    clock: MovingClock,
) -> None:
    booking_id = (await book()).json()["bookingId"]
    await work_off(runtime, clock)

    answer = await run("cancel_booking", bookingId=booking_id, reason="Double booked")
    again = await run("cancel_booking", bookingId=booking_id, reason="Again")
    await work_off(runtime, clock)

    assert answer["outcome"] == "done"
    assert answer["booking"] == again["booking"]
    shown = (await client.get(f"/api/v1/bookings/{booking_id}", headers=bearer)).json()
    assert (shown["status"], shown["cancelledBy"], shown["cancelReason"]) == ("CANCELLED", "agent", "Double booked")
    assert sorted((each["kind"], each["to"]) for each in shown["emailLogs"]) == [
        ("cancellation", "jonas@okafor.example"),
        ("cancellation", "mara@lindqvist.example"),
        ("confirmation", "jonas@okafor.example"),
        ("confirmation", "mara@lindqvist.example"),
    ]
    assert len(await events(runtime, "booking.cancelled")) == 1
    assert TEN in await slots(client, bearer)
    assert await find_disorder(runtime.pool) == {}


async def test_an_agents_reschedule_is_told_like_every_other(
    run: Run,
    runtime: Runtime,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    book: Book,
    clock: MovingClock,
) -> None:
    booking_id = (await book()).json()["bookingId"]

    answer = await run("reschedule_booking", bookingId=booking_id, newStartTime=ELEVEN, reason="Train")
    assert answer == await run("reschedule_booking", bookingId=booking_id, newStartTime=ELEVEN)
    await work_off(runtime, clock)

    assert (answer["id"], answer["startTime"], answer["previousStartTime"]) == (booking_id, ELEVEN, TEN)
    [fact] = await events(runtime, "booking.rescheduled")
    assert fact["reason"] == "Train"
    offered = await slots(client, bearer)
    assert (TEN in offered, ELEVEN in offered) == (True, False)
    shown = (await client.get(f"/api/v1/bookings/{booking_id}", headers=bearer)).json()
    assert "reschedule" in [each["kind"] for each in shown["emailLogs"]]


async def test_a_start_that_can_not_be_booked_is_refused_as_everywhere(
    run: Run, book: Book, clock: MovingClock, meeting: EventType
) -> None:
    del meeting
    booking_id = (await book()).json()["bookingId"]
    await book(ELEVEN)
    with pytest.raises(Refusal, match="no longer available"):
        await run("reschedule_booking", bookingId=booking_id, newStartTime=ELEVEN)
    with pytest.raises(Refusal) as refused:
        await run("reschedule_booking", bookingId=booking_id, newStartTime="2026-03-16T10:07:00Z")
    assert list(refused.value.details or {}) == ["newStartTime"]
    clock.pass_time(days=1)
    with pytest.raises(Refusal, match="in the past"):
        await run("cancel_booking", bookingId=booking_id)


@pytest.mark.parametrize(
    ("name", "arguments", "details"),
    [
        ("list_bookings", {"userId": NOBODY}, {"userId": "does not exist"}),
        ("list_bookings", {"status": "open"}, {"status": "must be one of all, CONFIRMED, CANCELLED"}),
        ("list_bookings", {"limit": 101}, {"limit": "must be at most 100"}),
        ("list_bookings", {"from": "2026-03-17", "to": "2026-03-16"}, {"to": "must not be before from"}),
        ("get_booking", {"bookingId": NOBODY}, {"bookingId": "does not exist"}),
        ("get_booking", {"bookingId": "7"}, {"bookingId": "must be a UUID"}),
        ("cancel_booking", {"bookingId": NOBODY}, {"bookingId": "does not exist"}),
        ("cancel_booking", {"bookingId": NOBODY, "reason": "x" * 501}, {"reason": "must have at most 500 characters"}),
        ("reschedule_booking", {"bookingId": NOBODY, "newStartTime": TEN}, {"bookingId": "does not exist"}),
        (
            "reschedule_booking",
            {"bookingId": NOBODY, "newStartTime": "2026-03-16T10:00:00"},
            {"newStartTime": "must have an offset, such as Z"},
        ),
    ],
)
async def test_wrong_bookings_and_arguments_are_named(
    run: Run, name: str, arguments: dict[str, object], details: dict[str, str]
) -> None:
    with pytest.raises(Refusal) as refused:
        await run(name, **arguments)

    assert refused.value.details == details
