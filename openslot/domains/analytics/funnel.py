"""The sign-up funnel: how far people come who sign up by the form, without anything about those who only visit it."""

from collections.abc import Sequence
from datetime import date, datetime

import asyncpg
import structlog

from openslot.domains.accounts.events import SignUpRequested, SignUpVerified
from openslot.domains.analytics import store
from openslot.domains.analytics.models import Funnel, FunnelStep
from openslot.platform.core.events import Change, Event
from openslot.platform.core.work import Consequence, Runtime, Work

MAX_WAITING = 1000

log = structlog.get_logger()


async def read_funnel(work: Work, *, first: date, last: date) -> Funnel:
    """Count how often each step was taken from one day to another, in UTC, together and by day."""
    days = await store.list_counts(work.db, first=first, last=last)
    total = {step: sum(each.count for each in days if each.step is step) for step in FunnelStep}
    return Funnel(first=first, last=last, total=total, days=tuple(days))


def count_visit(runtime: Runtime, on: date) -> None:
    """Count a visit of the form; the visitor does not wait, and a count that can't be written is dropped."""
    runtime.batcher(_count).tell(on, max_waiting=MAX_WAITING)


async def _count(runtime: Runtime, days: Sequence[date]) -> Sequence[None]:
    try:
        for on in sorted(set(days)):
            await store.add_visits(runtime.pool, on, days.count(on))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as fault:
        log.warning("visits of the sign-up form were not counted", visits=len(days), error=str(fault))
    return [None] * len(days)


def take_step(step: FunnelStep, on: type[Event]) -> Consequence:
    """Let the first event of this kind be a step of the tenant's account."""

    def write(event: Event, now: datetime) -> tuple[Change, ...]:
        return () if event.tenant_id is None else (store.write_step(event.tenant_id, step, at=now),)

    return Consequence(name=f"funnel.{step}", on=on, changes=write)


def _write_signed_up(event: Event, now: datetime) -> tuple[Change, ...]:
    return (store.write_signed_up(event.sign_up_id, at=now),) if isinstance(event, SignUpRequested) else ()


def _write_verified(event: Event, now: datetime) -> tuple[Change, ...]:
    return store.write_verified(event.user_id, event.email, at=now) if isinstance(event, SignUpVerified) else ()


FUNNEL_BEGINNING = (
    Consequence(name="funnel.signed_up", on=SignUpRequested, changes=_write_signed_up),
    Consequence(name="funnel.verified", on=SignUpVerified, changes=_write_verified),
)
