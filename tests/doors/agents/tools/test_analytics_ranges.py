"""Tools: which days figures can be asked for, since when they are known, and figures of logs."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.doors.agents.tools.conftest import Run
from tests.support.clocks import MovingClock
from tests.support.platform_facts import add_host, list_days

NOW = datetime(2026, 4, 6, 12, tzinfo=UTC)
RANGED = (
    "get_revenue",
    "get_traffic",
    "get_booking_metrics",
    "get_signup_funnel",
    "get_retention",
    "get_top_event_types",
    "get_messaging_metrics",
)


@pytest.mark.parametrize("tool", RANGED)
@pytest.mark.parametrize(
    ("given", "details"),
    [
        ({"from": "2026-04-02", "to": "2026-04-01"}, {"to": "must not be before from"}),
        ({"from": "2026-04-07"}, {"from": "must not be after to, which is today if it is left out"}),
        ({"from": "2025-04-05", "to": "2026-04-06"}, {"from": "must be at most 365 days before to"}),
        ({"from": "2026-02-30"}, {"from": "is a date or time that does not exist"}),
        ({"from": "1969-01-01", "to": "3000-01-01"}, {"from", "to"}),
    ],
)
async def test_a_range_that_makes_no_sense_is_refused(
    run: Run, clock: MovingClock, tool: str, given: dict[str, str], details: Any
) -> None:
    clock.now = NOW
    with pytest.raises(Invalid) as refusal:
        await run(tool, **given)
    found = refusal.value.details or {}
    assert (set(found) if isinstance(details, set) else found) == details


@pytest.mark.parametrize("tool", RANGED[:4])
async def test_a_date_time_means_its_whole_day_and_a_year_is_the_longest_range(
    run: Run, clock: MovingClock, tool: str
) -> None:
    clock.now = NOW
    found = await run(tool, **{"from": "2025-04-06T23:30:00-01:00", "to": "2026-04-06T00:00:00Z"})
    assert (found["from"], found["to"]) == ("2025-04-07", "2026-04-06")
    found = await run(tool, **{"from": "2025-04-06"})
    assert (found["from"], found["to"]) == ("2025-04-06", "2026-04-06")
    found = await run(tool)
    assert (found["from"], found["to"]) == ("2026-03-08", "2026-04-06")


async def test_empty_days_are_there(run: Run, clock: MovingClock) -> None:
    clock.now = NOW
    days = {"from": "2024-02-28", "to": "2024-03-01"}
    shown = [str(on) for on in list_days(date(2024, 2, 28), date(2024, 3, 1))]

    bookings, revenue = await run("get_booking_metrics", **days), await run("get_revenue", **days)

    assert [(part["from"], part["bookings"]) for part in bookings["data"]] == [(on, 0) for on in shown]
    assert [(part["from"], part["revenue"]) for part in revenue["data"]] == [(on, []) for on in shown]
    assert revenue["totals"] == []


async def test_a_result_says_since_when_things_are_recorded(run: Run, runtime: Runtime, clock: MovingClock) -> None:
    applied = await runtime.pool.fetchval("select min(applied_at) from migrations")
    clock.now = applied + timedelta(days=800)

    bookings, traffic = await run("get_booking_metrics"), await run("get_traffic")

    assert bookings["recordedSince"] == {"noShows": str(applied.date())}
    # Visits are kept for 25 months.
    assert traffic["recordedSince"] == {
        "visits": str((clock.now - timedelta(days=762)).date()),
        "sources": str(applied.date()),
    }
    mail = await run("get_messaging_metrics")
    assert mail["recordedSince"] == {"emails": str((clock.now - timedelta(days=90)).date())}


async def test_messaging_metrics(run: Run, runtime: Runtime, clock: MovingClock) -> None:
    host = await add_host(runtime, clock, "ana", at=NOW)
    clock.now = NOW
    midnight = datetime(2026, 4, 1, tzinfo=UTC)
    for channel in ("sms", "whatsapp"):
        thread = uuid4()
        await runtime.pool.execute(
            """insert into conversations (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
            values ($1, $2, '+493012345678', $3, $4, $4, $4)""",
            *(thread, host.user.id, channel, midnight),
        )
        sent = [("outbound", "delivered"), ("outbound", "delivered"), ("outbound", "failed"), ("inbound", "received")]
        for direction, status in sent[: 4 if channel == "sms" else 1]:
            for at in (midnight, midnight - timedelta(microseconds=1)):
                await runtime.pool.execute(
                    """insert into messages (id, conversation_id, content, direction, status, at, created_at)
                    values (gen_random_uuid(), $1, 'x', $2, $3, $4, $4)""",
                    *(thread, direction, status, at),
                )
    for ended, seconds in (("completed", 60), ("completed", 5), ("no_answer", 0), (None, 0)):
        await runtime.pool.execute(
            """insert into calls (id, owner_id, direction, caller_phone, agent_name, started_at, ended_at,
            duration_seconds, status, created_at, updated_at) values (gen_random_uuid(), $1, 'inbound', '+493012345678',
            'Reception', $2, case when $3::text is not null then $2::timestamptz end, $4, $3, $2, $2)""",
            *(host.user.id, midnight, ended, seconds),
        )
    await runtime.pool.execute("delete from mail_messages")
    for status, transport in (("sent", "smtp"), ("sent", "mailbox"), ("failed", "smtp"), ("sending", None)):
        await runtime.pool.execute(
            """insert into mail_messages (id, kind, recipient, subject, is_public, status, transport, created_at,
            sent_at) values (gen_random_uuid(), 'notice', 'a@b.example', 'x', false, $1, $2, $3::timestamptz,
                case when $1 = 'sent' then $3 end)""",
            *(status, transport, midnight),
        )
    days = {"from": "2026-04-01", "to": "2026-04-01"}

    found = await run("get_messaging_metrics", **days)

    assert found["data"] == [
        show("sms", {"delivered": 2, "failed": 1}, {"received": 1}),
        show("whatsapp", {"delivered": 1}),
        show("voice", {}, {"completed": 2, "no_answer": 1, "running": 1}, seconds=65),
        show("email", {"failed": 1, "mailbox": 1, "sending": 1, "sent": 1}),
    ]
    assert (await run("get_messaging_metrics", **days, channel="voice"))["data"] == [found["data"][2]]
    empty = await run("get_messaging_metrics", **{"from": "2025-01-01", "to": "2025-01-01"}, channel="sms")
    assert empty["data"] == [show("sms", {})]


def show(channel: str, outbound: dict[str, int], inbound: dict[str, int] | None = None, *, seconds: int = 0) -> Any:
    inbound = inbound or {}
    total = sum(outbound.values()) + sum(inbound.values())
    return {"channel": channel, "total": total, "outbound": outbound, "inbound": inbound, "seconds": seconds}
