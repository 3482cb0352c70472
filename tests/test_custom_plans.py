"""Which reads are planned for their arguments, and which requests keep one plan for all of them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from openslot.app import create_app
from openslot.domains.accounts import store as account_store
from openslot.domains.accounts.members import store as member_store
from openslot.domains.accounts.models import MemberFilter
from openslot.domains.analytics import daily_store, host_store
from openslot.domains.analytics import store as view_store
from openslot.domains.analytics.models import HostPeriod
from openslot.domains.bookings.agenda import store as agenda_store
from openslot.domains.bookings.models import AgendaFilter
from openslot.domains.calendars import store as calendar_store
from openslot.domains.calls import store as call_store
from openslot.domains.change_log import store as change_store
from openslot.domains.change_log.models import ChangeFilter
from openslot.domains.contacts import store as contact_store
from openslot.domains.contacts.models import ContactSort
from openslot.domains.conversations import store as conversation_store
from openslot.domains.event_types import store as event_type_store
from openslot.domains.mail import store as mail_store
from openslot.domains.webhooks import delivery_log_store
from openslot.domains.webhooks import store as webhook_store
from openslot.domains.webhooks.models import DeliveryFilter, EndpointRef
from openslot.doors.agents.approvals import store as approval_store
from openslot.doors.agents.audit import store as audit_store
from openslot.doors.agents.emails import store as email_store
from openslot.doors.agents.models import AuditFilter
from openslot.doors.scim import store
from openslot.doors.scim.models import RequestFilter
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Db, Pool, open_pool, transaction
from openslot.platform.core.moments import Span
from openslot.platform.core.profiles import JOBS, request_profile
from openslot.platform.core.work import Runtime
from tests.support.live import connect, serving

ANY = UUID(int=7)
DAY = date(2026, 3, 2)
NOW = datetime(2026, 3, 2, tzinfo=UTC)
PAGE = {"limit": 20, "offset": 0}
COUNT = """
select array[coalesce(sum(custom_plans), 0), coalesce(sum(generic_plans), 0)]::int[] from pg_prepared_statements
where statement not like '%pg_prepared_statements%'"""

Read = Callable[[Db], Awaitable[object]]
READS: dict[str, Read] = {
    "funnel": lambda db: view_store.list_counts(db, first=DAY, last=DAY),
    "logs by day": lambda db: view_store.list_logs(db, since=NOW, until=NOW),
    "top event types": lambda db: view_store.list_top_event_types(db, since=NOW, until=NOW, limit=5),
    "plans": lambda db: view_store.count_plans(db, now=NOW),
    "an event type by day": lambda db: daily_store.sum_event_type(db, ANY, DAY, DAY, starts=[DAY]),
    "views of a host": lambda db: view_store.list_views(db, ANY, first=DAY, last=DAY),
    "calls of agents": lambda db: audit_store.list_calls(db, AuditFilter(tool="x"), **PAGE),
    "counts of agents' calls": lambda db: audit_store.list_activity(db, since=NOW, agent=None),
    "events": lambda db: audit_store.list_events(db, AuditFilter(user_id=ANY), **PAGE),
    "email of agents": lambda db: email_store.list_emails(db, agent=None, limit=5),
    "approvals": lambda db: approval_store.list_pending(db, None, now=NOW, limit=5),
    "users": lambda db: account_store.list_users(db, now=NOW, search="x", plan=None, status=None, **PAGE),
    "members": lambda db: member_store.search_members(db, ANY, MemberFilter(search="x"), now=NOW, **PAGE),
    "activity": lambda db: account_store.list_activity(db, ANY, span=Span(), **PAGE),
    "all event types": lambda db: event_type_store.list_all_event_types(db, owner_id=None, active=None, **PAGE),
    "change log": lambda db: change_store.list_changes(db, ANY, ChangeFilter(), before_id=None, limit=5),
    "SCIM requests": lambda db: store.search_requests(db, ANY, RequestFilter(), before_id=None, limit=5),
    "conversations": lambda db: conversation_store.list_conversations(db, ANY, phone=None, span=Span(), **PAGE),
    "threads": lambda db: conversation_store.list_threads(db, ANY, search="x", channel=None, span=Span(), **PAGE),
    "finished calls": lambda db: call_store.list_finished_calls(db, ANY, status=None, span=Span(), **PAGE),
    "calls": lambda db: call_store.list_calls(
        db, ANY, search="x", phone=None, direction=None, status=None, span=Span(), **PAGE
    ),
    "endpoints": lambda db: webhook_store.list_endpoints(db, None),
    "deliveries": lambda db: delivery_log_store.list_deliveries(db, EndpointRef(ANY), DeliveryFilter(), **PAGE),
    "mail": lambda db: mail_store.list_mail(db, recipient=None, booking_id=None, **PAGE),
    "calendars": lambda db: calendar_store._list_rows(db, None),
}
# Statements that contain only the filters that are given: each combination keeps a plan of its own.
WRITTEN_FOR_THEIR_FILTERS: dict[str, Read] = {
    "contacts": lambda db: contact_store.list_entries(db, ANY, search="ana", sort=ContactSort.NAME, now=NOW, **PAGE),
    "agenda": lambda db: agenda_store.list_agenda_page(db, ANY, AgendaFilter(search="x"), now=NOW, **PAGE),
    "all bookings": lambda db: agenda_store.list_booking_entries(db, None, status=None, span=Span(), **PAGE),
    "figures of a host": lambda db: host_store.read_figures(
        db, ANY, HostPeriod(first=DAY, last=DAY), zone="UTC", event_type_id=None
    ),
    "figures of an event type": lambda db: host_store.read_figures(
        db, ANY, HostPeriod(first=DAY, last=DAY), zone="UTC", event_type_id=ANY
    ),
    "figures of the platform": lambda db: daily_store.sum_figures(db, DAY, DAY, names=["bookings"], starts=[DAY]),
    "active hosts": lambda db: daily_store.count_active_hosts(db, DAY, DAY, starts=[DAY]),
    "retention": lambda db: daily_store.list_retained(db, DAY, DAY, starts=[DAY], ends=DAY),
    "all contacts": lambda db: contact_store.list_all_contacts(db, search="ana", **PAGE),
}
HOT = ("/me", "/bookings", "/contacts?search=ana", "/availability/30min?timezone=UTC")


@asynccontextmanager
async def one_connection(url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(url, max_=1, profile=JOBS)
    try:
        yield pool
    finally:
        await pool.close()


async def count_plans(db: Db) -> tuple[int, int]:
    """Count the plans that a connection has used: custom ones, and those it keeps."""
    custom, kept = await db.fetchval(COUNT)
    return custom, kept


async def compare(db: Db, read: Read) -> tuple[bool, bool]:
    """Tell whether a read uses custom plans, and whether it uses kept ones."""
    await read(db)  # The driver looks up types when it meets them first.
    custom, kept = await count_plans(db)
    await read(db)
    custom_after, kept_after = await count_plans(db)
    return custom_after > custom, kept_after > kept


@pytest.mark.parametrize("name", READS)
async def test_analytics_and_searches_use_custom_plans(database_url: str, name: str) -> None:
    async with one_connection(database_url) as pool:
        assert await compare(pool, READS[name]) == (True, False)


@pytest.mark.parametrize("name", READS)
async def test_they_do_so_inside_a_transaction(database_url: str, name: str) -> None:
    async with one_connection(database_url) as pool, transaction(pool) as db:
        assert await compare(db, READS[name]) == (True, False)


@pytest.mark.parametrize("name", WRITTEN_FOR_THEIR_FILTERS)
async def test_statements_that_are_written_for_their_filters_keep_their_plans(database_url: str, name: str) -> None:
    async with one_connection(database_url) as pool:
        assert await compare(pool, WRITTEN_FOR_THEIR_FILTERS[name]) == (False, True)


async def test_the_requests_that_come_most_often_keep_their_plans(
    settings: Settings, runtime: Runtime, bearer: dict[str, str]
) -> None:
    pool = runtime.pool
    runtime.pool = await open_pool(str(settings.database_url), max_=1, profile=request_profile(settings))
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    try:
        async with serving(app) as url, connect(url, headers=bearer) as client:
            for path in HOT:
                custom, kept = await count_plans(runtime.pool)
                answer = await client.get(f"/api/v1{path}")
                custom_after, kept_after = await count_plans(runtime.pool)

                assert (answer.status_code, custom_after - custom) == (200, 0), path
                assert kept_after > kept, path
    finally:
        await runtime.pool.close()
        runtime.pool = pool
