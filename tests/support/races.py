"""Two web processes on one database, clients that all want the same, and what must hold afterwards."""

import os
import socket
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Literal, TypeVar
from uuid import UUID

from argon2 import PasswordHasher
from msgspec import Struct

from openslot.domains.access import passwords
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Db
from openslot.platform.core.environment import load_settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.support.forked import Forked, openslot
from tests.support.ports import held_port
from tests.support.shared_database import SharedDatabase, sharing_with_processes

T = TypeVar("T")
FREE = 1_000_000
# Two live claims of one host that share time.
OVERLAPS = """
select count(*) from claims a join claims b
on a.host_no = b.host_no and a.id < b.id and a.during && b.during where a.active and b.active"""
# A confirmed booking without an active claim (and seat) of its own host, or of one of its hosts, that covers it.
ASTRAY = """
select count(*) from bookings b left join booking_hosts h on h.booking_id = b.id
join users u on u.id = coalesce(h.user_id, b.host_id)
left join claims c on c.id = coalesce(h.claim_id, b.claim_id) left join claim_seats t on t.id = b.seat_id
where b.status = 'CONFIRMED' and not coalesce(
    c.active and c.kind <> 'hold' and c.expires_at is null and c.host_no = u.no
    and c.starts_at = b.starts_at and c.ends_at = b.ends_at and c.during @> tstzrange(b.starts_at, b.ends_at)
    and (c.kind = 'session' or h.claim_id is not null and c.seats > 1) = (b.seat_id is not null)
    and (b.seat_id is null or t.active and t.claim_id = b.claim_id and t.expires_at is null), false)"""
# What people meet for, or will if it is confirmed.
IS_ON = """(b.status = 'CONFIRMED' or exists (
    select from booking_requests r where r.booking_id = b.id and r.state = 'waiting'))"""
# Two confirmed bookings that have one claim or one seat between them.
SHARED = """
select count(*) from (
    select from bookings where status = 'CONFIRMED' and claim_id is not null
    group by claim_id, seat_id having count(*) > 1) x"""
# A seat whose hold has expired is free, also before a job has swept it up.
OVERBOOKED = """
select count(*) from claims c where c.active and (
    select count(*) from claim_seats t
    where t.claim_id = c.id and t.active and (t.expires_at is null or t.expires_at > now())) > c.seats"""
# Time that is taken for nobody.
LOST_TIME = f"""
select count(*) from claims c where c.active and (
    c.kind = 'booking' and not exists (select from bookings b where b.claim_id = c.id and b.status = 'CONFIRMED')
        and not exists (select from booking_hosts h join bookings b on b.id = h.booking_id
                        where h.claim_id = c.id and {IS_ON})
    or c.kind = 'request' and not exists (select from booking_requests r join bookings b on b.id = r.booking_id
                                          where b.claim_id = c.id and r.state = 'waiting')
    or c.kind = 'session' and not exists (select from claim_seats t where t.claim_id = c.id and t.active))"""
# What waits for its host without its time, or has ended and keeps it, or was answered without its booking.
REQUESTS = """
select count(*) from booking_requests r join bookings b on b.id = r.booking_id
join claims c on c.id = b.claim_id left join claim_seats t on t.id = b.seat_id
where case r.state
    when 'waiting' then b.status <> 'PENDING_CONFIRMATION' or not (c.active and coalesce(t.active, true)) or exists (
        select from booking_hosts h join claims k on k.id = h.claim_id where h.booking_id = b.id and not k.active)
    when 'confirmed' then b.status = 'PENDING_CONFIRMATION'
    else b.status <> 'PENDING_CONFIRMATION' or (case when t.id is null then c.active else t.active end) end"""
# A meeting of someone who was gone before it ended, or one that was asked for before its host left an organization.
LEFT_BEHIND = """
select count(*) from bookings b join users u on u.id = b.host_id
left join booking_requests r on r.booking_id = b.id
where (b.status = 'CONFIRMED' or r.state = 'waiting') and (
    b.ends_at > u.disabled_at or b.created_at < u.left_at and b.ends_at > u.left_at)"""
# A link whose uses are not those of its bookings, or a booking that has a use and not its time, or the other way round.
LINKS = """
select (select count(*) from booking_links l where l.used <> (
            select count(*) from booking_link_uses n where n.link_id = l.id and n.active) or l.used > l.uses)
     + (select count(*) from booking_link_uses n join bookings b on b.id = n.booking_id
        join claims c on c.id = b.claim_id left join claim_seats t on t.id = b.seat_id
        where n.active <> (b.status in ('CONFIRMED', 'CANCELLED') or case when t.id is null then c.active
                           else t.active end))"""
# Those who have more upcoming bookings of an event type than an address can have, if nobody but invitees booked.
OVER_LIMIT = """
select count(*) from (
    select from bookings b join event_types e on e.id = b.event_type_id
    join claims c on c.id = b.claim_id left join claim_seats t on t.id = b.seat_id
    where b.ends_at > $1 and ($2::uuid is null or b.host_id = $2)
        and b.status <> 'CANCELLED' and c.active and coalesce(t.active, true)
    group by e.id, lower(b.invitee_email) having count(*) > e.limit_per_invitee) many"""
# A meeting of somebody who has left before it ended.
HOSTS_LEFT_BEHIND = f"""
select count(*) from booking_hosts h join bookings b on b.id = h.booking_id join users u on u.id = h.user_id
where {IS_ON} and (b.ends_at > u.disabled_at or b.created_at < u.left_at and b.ends_at > u.left_at)"""
# A booking of a team without one organizer, whose claim it has, or with another number of hosts than its groups pick.
UNHOSTED = f"""
select count(*) from bookings b join event_types e on e.id = b.event_type_id and e.team_id is not null
where {IS_ON} and (
    (select array_agg(h.claim_id) from booking_hosts h where h.booking_id = b.id and h.role = 'organizer')
        is distinct from array[b.claim_id]
    or (select count(*) from booking_hosts h where h.booking_id = b.id)
        <> (select sum(g.pick) from host_groups g where g.event_type_id = e.id))"""
# Two meetings, or a meeting and a hold, that have one claim of a host between them.
HOSTS_SHARED = f"""
select count(*) from (
    select from (
        select h.claim_id, case when b.seat_id is null then b.id else b.claim_id end as meeting
        from booking_hosts h join bookings b on b.id = h.booking_id and {IS_ON}
        union all select claim_id, hold_id from held_hosts) k
    group by k.claim_id having count(distinct k.meeting) > 1) x"""
# Bookings of a session with different hosts, two sessions of a team at one start, seats in a session that is over, and
# what is held by seats while it is booked, or booked while it is held.
SESSIONS = f"""
select (select count(*) from (
            select from (select b.claim_id, b.id, array_agg(h.user_id order by h.user_id) as hosts
                         from bookings b join booking_hosts h on h.booking_id = b.id
                         where b.seat_id is not null and {IS_ON} group by b.id) s
            group by s.claim_id having count(distinct s.hosts) > 1) x)
     + (select count(*) from (
            select from claims c join event_types e on e.id = c.event_type_id and e.team_id is not null
            where c.active and c.seats > 1 and (c.expires_at is null or c.expires_at > now())
              and exists (select from claim_seats t where t.claim_id = c.id)
            group by e.id, c.starts_at having count(*) > 1) x)
     + (select count(*) from claim_seats t join claims c on c.id = t.claim_id
        where t.active and t.holder is null and not c.active)
     + (select count(*) from held_hosts d join claims c on c.id = d.claim_id where c.kind = 'booking')"""
# Meetings of teams that are not counted once for each of their hosts, where no-shows and cancellations count.
COUNTED = f"""
select count(*) from (
    select distinct case when b.seat_id is null then b.id else b.claim_id end as meeting, h.group_id, h.user_id
    from bookings b join booking_hosts h on h.booking_id = b.id join host_groups g on g.id = h.group_id
    where {IS_ON} and not b.no_show) m
where 1 <> (select coalesce(sum(x.served), 0) from assignments a join credit_entries x on x.assignment_id = a.id
            where a.booking_id = m.meeting and a.group_id = m.group_id and x.user_id = m.user_id)"""
# Requests that count although they have not become a booking, where nobody else has a seat with their hosts.
UNCONFIRMED = f"""
select count(*) from booking_requests q join bookings o on o.id = q.booking_id
where q.state in ('declined', 'lapsed', 'withdrawn')
  and 0 <> (select coalesce(sum(x.served), 0) from assignments a join credit_entries x on x.assignment_id = a.id
            where a.booking_id = case when o.seat_id is null then o.id else o.claim_id end)
  and not exists (select from bookings b where b.claim_id = o.claim_id and b.id <> o.id and {IS_ON})"""
# Groups whose credits do not sum up to nothing, and members whose credit is not the sum of their entries.
CREDITS = """
select (select count(*) from (select from host_group_members group by group_id having sum(credit) <> 0) x)
     + (select count(*) from host_group_members m where m.credit <> coalesce((
            select sum(x.delta) from credit_entries x where (x.group_id, x.user_id) = (m.group_id, m.user_id)), 0))"""
FAULTS = {
    "links": LINKS,
    "overlaps": OVERLAPS,
    "astray": ASTRAY,
    "shared": SHARED,
    "overbooked": OVERBOOKED,
    "lost time": LOST_TIME,
    "requests": REQUESTS,
    "left behind": LEFT_BEHIND,
    "hosts left behind": HOSTS_LEFT_BEHIND,
    "unhosted": UNHOSTED,
    "hosts shared": HOSTS_SHARED,
    "sessions": SESSIONS,
    "counted": COUNTED,
    "unconfirmed": UNCONFIRMED,
    "credits": CREDITS,
}


class WebPair(Struct, frozen=True, kw_only=True):
    """Two web processes that run on from test to test, and the database that they share with the tests."""

    settings: Settings
    urls: tuple[str, ...]
    database: SharedDatabase


def split_pairs(writers: Iterable[T], size: int) -> dict[str, list[tuple[T, T]]]:
    """Name the parts of all pairs of writers, each of which is tested by itself."""
    pairs = list(combinations_with_replacement(writers, 2))
    return {f"from {first}": pairs[first : first + size] for first in range(0, len(pairs), size)}


async def find_disorder(db: Db) -> dict[str, int]:
    """Count every kind of fault that bookings and claims may never have, and tell those that are there."""
    questions = ", ".join(f'({question}) as "{name}"' for name, question in FAULTS.items())
    (found,) = await db.fetch(f"select {questions}")
    return {name: count for name, count in found.items() if count}


async def find_over_limit(db: Db, *, now: datetime, host_id: UUID | None = None) -> int:
    """Count the addresses that have too many bookings of an event type of one host, or of any."""
    return int(await db.fetchval(OVER_LIMIT, now, host_id))


@asynccontextmanager
async def running_pair(url: str, data_dir: Path) -> AsyncIterator[WebPair]:
    """Run two web processes on a database of their own."""
    settings = load_settings({"database_url": url, "data_dir": data_dir, "log_level": "error"}, environ={})
    # The processes keep the data keys that they find, so those are here before the tables are remembered.
    async with open_runtime(settings):
        pass
    with web_processes(settings) as urls:
        async with sharing_with_processes(url) as shared:
            yield WebPair(settings=settings, urls=tuple(urls), database=shared)


@contextmanager
def web_processes(
    settings: Settings, count: int = 2, *, limit_key: int = FREE, limit_failed_auth: int = FREE
) -> Iterator[list[str]]:
    """Run web processes as an operator would, and tell their addresses."""
    limits = {"OPENSLOT_LIMIT_KEY": str(limit_key), "OPENSLOT_LIMIT_FAILED_AUTH": str(limit_failed_auth)}
    with ExitStack() as stack:
        yield [stack.enter_context(_web(settings, limits)) for _ in range(count)]


@contextmanager
def _web(settings: Settings, limits: dict[str, str]) -> Iterator[str]:
    with held_port() as port:
        yield from _web_at(port, settings, limits)


def _web_at(port: int, settings: Settings, limits: dict[str, str]) -> Iterator[str]:
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_PORT": str(port),
        "OPENSLOT_LIMIT_PUBLIC": str(FREE),
        # On a busy machine, those who come at once may wait for each other longer than people would.
        "OPENSLOT_DATABASE_WAIT_SECONDS": "60",
        "OPENSLOT_DATABASE_STATEMENT_SECONDS": "60",
        # So that every client can have an address of its own.
        "OPENSLOT_TRUSTED_PROXIES": "127.0.0.1/32",
        **limits,
        "OPENSLOT_LOG_LEVEL": "error",
    }
    process = Forked(serve_web, environment=environment)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


class SlowHasher(PasswordHasher):
    """Takes as long as the product's, so that two who use one password meet, but waits instead of computing."""

    TAKES = 0.15

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        """Hash slowly."""
        time.sleep(self.TAKES)
        return super().hash(password, salt=salt)

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 - argon2's name for it
        """Verify slowly."""
        time.sleep(self.TAKES)
        return super().verify(hash, password)


def serve_web() -> None:
    """Serve as `openslot web` does."""
    passwords._hasher = SlowHasher(time_cost=1, memory_cost=8, parallelism=1)
    openslot("web")


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the web process does not listen")


def workday(number: int) -> datetime:
    """Tell nine o'clock of the n-th workday from next Monday on."""
    today = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
    monday = today + timedelta(days=7 - today.weekday())
    return monday + timedelta(days=number // 5 * 7 + number % 5)


def iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def wish(slug: str, start: datetime, number: int) -> dict[str, str]:
    return {
        "eventTypeSlug": slug,
        "startTime": iso(start),
        "inviteeName": f"Client {number}",
        "inviteeEmail": f"client{number}@race.example",
        "inviteeTimezone": "UTC",
    }


async def check_order(runtime: Runtime) -> None:
    assert await find_disorder(runtime.pool) == {}
