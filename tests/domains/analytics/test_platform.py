"""Figures about the platform: each day of the span, by what happened on it in UTC."""

from datetime import UTC, date, datetime, timedelta

from openslot.domains.analytics import platform
from openslot.domains.analytics.models import UtcDays
from openslot.doors.agents import budget
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock

__all__ = ["clock"]


async def count(runtime: Runtime, first: date, last: date) -> dict[tuple[str, str], list[int]]:
    days = UtcDays(first=first, last=last)
    async with runtime.transaction(OPERATOR) as work:
        logs = await platform.list_logs(work, days)
    counted = {(each.channel, each.status, each.on): each.amount for each in logs}
    shown = [part.first for part in days.split("day")]
    kinds = (("email", "sent"), ("email", "failed"), ("email", "sending"), ("spend", "micros"))
    return {kind: [counted.get((*kind, on), 0) for on in shown] for kind in kinds}


async def test_a_day_without_anything_is_there(runtime: Runtime) -> None:
    found = await count(runtime, date(2026, 3, 1), date(2026, 3, 3))

    assert set(map(tuple, found.values())) == {(0, 0, 0)}


async def test_mail_and_spend_are_counted_on_their_day(runtime: Runtime) -> None:
    today = runtime.clock().astimezone(UTC).date()
    midnight = datetime.combine(today, datetime.min.time(), UTC)
    for at, status in (
        (midnight, "sent"),
        (midnight - timedelta(microseconds=1), "sent"),
        (midnight, "failed"),
        (midnight, "sending"),
        (midnight + timedelta(days=1), "sent"),
    ):
        await runtime.pool.execute(
            """insert into mail_messages (id, kind, role, recipient, subject, is_public, status, created_at, sent_at)
            values (gen_random_uuid(), 'notice', 'none', 'a@b.example', 'x', false, $1, $2, $3)""",
            status,
            at,
            at if status == "sent" else None,
        )
    await budget.report(runtime, "support", 1_500)
    found = await count(runtime, today - timedelta(days=1), today)

    assert found["email", "sent"] == [1, 1]
    assert found["email", "failed"] == [0, 1]
    assert found["email", "sending"] == [0, 1]
    assert found["spend", "micros"] == [0, 1_500]
