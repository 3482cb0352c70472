"""The verbs of the platform's figures, by days in UTC; docs/analytics.md defines each of them."""

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from openslot.domains.analytics import daily_store, store
from openslot.domains.analytics.models import (
    DailySum,
    LogCount,
    PlanCount,
    RetainedHosts,
    SubscriptionCount,
    TopEventType,
    UtcDays,
)
from openslot.domains.analytics.operations import KEPT_FOR
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Periodic, Work
from openslot.platform.jobs.each import serve_each

# Longer than any transaction, and than clocks may differ.
CLOSED_AFTER = timedelta(hours=1)
DAYS_A_RUN = 400
KEEP_DAYS = "analytics.keep_days"
BOOKING_FIGURES = ("bookings", "cancellations", "meetings", "no_shows")
MONEY_FIGURES = ("received", "refunded", "payments")
# Which migration records what: what happened before is not known.
RECORDED_BY = {"noShows": "0023", "sources": "0024", "payments": "0026", "subscriptions": "0028"}


async def sum_figures(
    work: Work, parts: Sequence[UtcDays], names: Sequence[str], *, keyed: Collection[str] = ()
) -> list[DailySum]:
    """Sum figures up over parts that follow each other: closed days as they are kept, the others as they are now."""
    starts = [part.first for part in parts]
    return await daily_store.sum_figures(
        work.db, parts[0].first, parts[-1].last, names=names, starts=starts, keyed=keyed
    )


async def count_active_hosts(work: Work, parts: Sequence[UtcDays]) -> dict[int, int]:
    """Count the hosts with whom a booking was made, by part."""
    starts = [part.first for part in parts]
    return await daily_store.count_active_hosts(work.db, parts[0].first, parts[-1].last, starts=starts)


async def sum_event_type(work: Work, event_type_id: UUID, parts: Sequence[UtcDays]) -> list[DailySum]:
    """Sum up the figures of the bookings of one event type."""
    if not await store.has_event_type(work.db, event_type_id):
        raise NotFound("There is no event type with this id")
    starts = [part.first for part in parts]
    return await daily_store.sum_event_type(work.db, event_type_id, parts[0].first, parts[-1].last, starts=starts)


async def list_retained(work: Work, cohorts: Sequence[UtcDays], periods: Sequence[UtcDays]) -> list[RetainedHosts]:
    """Count users by when they signed up, and how many of them had bookings in each period; both begin alike."""
    starts = [period.first for period in periods]
    return await daily_store.list_retained(
        work.db, periods[0].first, periods[-1].last, starts=starts, ends=cohorts[-1].last
    )


async def list_logs(work: Work, days: UtcDays) -> list[LogCount]:
    """Count emails, messages, calls, deliveries and agents' spend by day, as far as their logs go back."""
    return await store.list_logs(work.db, since=_begin(days.first), until=_begin(days.last + timedelta(days=1)))


async def list_top_event_types(work: Work, days: UtcDays, *, limit: int) -> list[TopEventType]:
    since, until = _begin(days.first), _begin(days.last + timedelta(days=1))
    return await store.list_top_event_types(work.db, since=since, until=until, limit=limit)


async def count_plans(work: Work) -> list[PlanCount]:
    """Count users by their plans, as they are now."""
    return await store.count_plans(work.db, now=work.now)


async def count_subscriptions(work: Work) -> list[SubscriptionCount]:
    """Count subscriptions by plan and status, as they are now."""
    return await store.count_subscriptions(work.db)


async def list_beginnings(work: Work) -> dict[str, date]:
    """Tell since when things are recorded, or kept, that were not always."""
    began, applied = await daily_store.read_beginnings(work.db, list(RECORDED_BY.values()))
    today = work.now.astimezone(UTC).date()
    mail_since = today - timedelta(days=work.runtime.settings.keep_mail_days)
    return {
        **{name: applied.get(number, began) for name, number in RECORDED_BY.items()},
        "visits": max(began, today - KEPT_FOR),
        "signUpSteps": max(began, today - KEPT_FOR),
        "emails": max(began, mail_since),
    }


async def keep_days(work: Work) -> str:
    """Count days that are over and not kept yet, and days of which something has changed since."""
    until = (work.now.astimezone(UTC) - CLOSED_AFTER).date() - timedelta(days=1)
    days = await daily_store.list_uncounted(work.db, until=until, limit=DAYS_A_RUN)

    async def count(on: date) -> None:
        async with work.runtime.transaction(SYSTEM) as counting:
            await daily_store.lock_days(counting.db)
            await daily_store.count_day(counting.db, on, now=counting.now)

    await serve_each(work, KEEP_DAYS, days, count)
    return f"{len(days)} days counted"


def _begin(on: date) -> datetime:
    return datetime.combine(on, time(), UTC)


PLATFORM_JOBS = (Periodic(name=KEEP_DAYS, expression="11 * * * *", run=keep_days, transaction="none"),)
