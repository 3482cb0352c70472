"""A team beside one host: free times of 50 hosts over 62 days, of 500 for the first time, and bookings of one of 10."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import date, timedelta
from functools import partial
from itertools import islice
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple
from uuid import UUID

import asyncpg
import uvloop
from msgspec.structs import replace

from benchmarks.effects import open_runtime_at
from benchmarks.load import Tally, run_load, send
from benchmarks.processor import used_by
from benchmarks.stage import Stage, service, stage
from openslot.demo.large import make_large
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.operations import get_user
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.availability import free_hosts, schemas, team_listing
from openslot.domains.availability import operations as availability
from openslot.domains.availability.models import ById, ByPage, ByTeamPage, SlotContext
from openslot.domains.availability.schemas import write_slots
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.event_types import operations as event_types
from openslot.domains.schedules import operations as schedules
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import GroupWanted, HostWanted, TeamRules
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.migrate import migrate
from openslot.platform.core.times import at_second, iso
from openslot.platform.core.work import Runtime, Work, system_clock

HOSTS, SMALL, BOOKED = 500, 50, 10
ROUNDS, BOOKINGS = 15, 100
AIM_RATIO, AIM_COLD_MS, AIM_BOOKING = 2.0, 60.0, 1.5
ZONE = "Europe/Berlin"
# Hours in several zones, as people have them; a meeting and two busy spans on each working day.
HOURS = """
update schedules s set zone = (array['Europe/Berlin', 'Europe/London', 'America/New_York', 'Asia/Kolkata',
        'Australia/Lord_Howe', 'America/St_Johns'])[1 + u.no % 6]
from users u where u.id = s.owner_id"""
MEETINGS = """
insert into claims (id, host_no, kind, starts_at, ends_at, during, created_at)
select gen_random_uuid(), u.no, 'booking', at, at + interval '30 minutes',
       tstzrange(at, at + interval '30 minutes'), now()
from users u, generate_series(0, 61) day, lateral (
    select date_trunc('day', now()) + make_interval(days => day, hours => 8 + ((u.no + day) % 8)::int) as at) m
where extract(isodow from at) < 6"""
BUSY = """
insert into busy_spans (host_no, source, uid, during)
select u.no, 'Calendar', u.no || '-' || day || '-' || n, tstzrange(at, at + interval '45 minutes')
from users u, generate_series(0, 61) day, generate_series(1, 2) n, lateral (
    select date_trunc('day', now()) + make_interval(days => day, hours => 8 + ((u.no * n + day * 3) % 9)::int) as at) m
where extract(isodow from at) < 6"""


SMALL_TEAM, LARGE_TEAM = ByTeamPage("everybody", "small"), ByTeamPage("everybody", "large")
OWNER_OF = "select u.username from users u join event_types e on e.owner_id = u.id where e.id = $1"
BACKENDS = "select pid from pg_stat_activity where backend_type = 'client backend'"


class Took(NamedTuple):
    """Milliseconds: by the clock, and of processor time here and in PostgreSQL, if that is known."""

    ms: float
    cpu: float | None = None


def main() -> None:
    """Write hosts with full calendars, measure, print."""
    with stage() as here:
        uvloop.run(_measure_all(here))


async def _measure_all(here: Stage) -> None:
    async with set_up_teams(here) as (runtime, ids, key):
        # As visitors ask: by the address of the page.
        one = ByPage(await runtime.pool.fetchval(OWNER_OF, ids["one"]), "one")
        await _print_free_times(runtime, one, SMALL_TEAM, LARGE_TEAM)
        await _print_bookings(here, runtime, key, ids["one"], ids["booked"])


@asynccontextmanager
async def set_up_teams(here: Stage) -> AsyncIterator[tuple[Runtime, dict[str, UUID], str]]:
    """Write hosts and teams; return the event types by their names, and the key of the first host."""
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    try:
        made = await make_large(connection, hosts=HOSTS, bookings=0, now=system_clock(), progress=lambda _: None)
        for statement in (HOURS, MEETINGS, BUSY):
            await connection.execute(statement)
    finally:
        await connection.close()
    async with open_runtime_at(here) as runtime:
        async with runtime.transaction(OPERATOR) as work:
            hosts = [await get_user(work, each.id) for each in made]
            ids = await _make_event_types(work, hosts)
        await runtime.pool.execute("vacuum analyze")
        yield runtime, ids, made[0].api_key


async def _make_event_types(work: Work, hosts: list[User]) -> dict[str, UUID]:
    """Add an event type that one host has, and three of a team of all, of which some or all hosts are picked."""
    organization = await organizations.add_organization(work, name="Bench", slug="bench", plan=Plan.BUSINESS)
    for each in hosts:
        await members.add_organization_member(
            work, organization, each, role=Role.OWNER if each is hosts[0] else Role.MEMBER
        )
    everybody = await teams.add_team(work, organization, name="Everybody", zone=ZONE)
    await teams.add_team_members(work, everybody, [each.id for each in hosts])
    # Whose own event type is booked is not among the last ones.
    ten = await teams.add_team(work, organization, name="Ten", zone=ZONE)
    await teams.add_team_members(work, ten, [each.id for each in hosts[-BOOKED:]])
    schedule, *_ = await schedules.list_schedules(work, hosts[0])
    made = {}
    for slug, count in (("one", 1), ("small", SMALL), ("large", HOSTS), ("booked", BOOKED)):
        wanted = event_types.draft_event_type(work, schedule, name=slug, slug=slug, duration_minutes=30)
        wanted = replace(wanted, slot_interval_minutes=15)
        if count == 1:
            made[slug] = (await event_types.add_event_type(work, schedule, wanted)).id
            continue
        pool = GroupWanted(hosts=tuple(HostWanted(user_id=each.id) for each in hosts[-count:]))
        team, rules = ten if count == BOOKED else everybody, TeamRules(event_type_id=new_id())
        made[slug] = (await hosting.add_team_event_type(work, team, hosts[0], wanted, groups=[pool], rules=rules)).id
    return made


async def _print_free_times(runtime: Runtime, one: ByPage, small: ByTeamPage, large: ByTeamPage) -> None:
    first = system_clock().date()
    month = await _best(runtime, lambda: list_times(runtime, one, first, days=31))
    days = await _best(runtime, lambda: list_times(runtime, small, first, days=62))
    all_ = await _best(runtime, lambda: list_times(runtime, large, first, days=62))
    cold = await _best(runtime, lambda: list_times(runtime, large, first, days=62), before=_forget)
    _print_head("free times, read and written")
    _print_row("one host, 31 days", month)
    _print_row(f"{SMALL} hosts, 62 days", days, beside=month, aim=AIM_RATIO)
    _print_row(f"{HOSTS} hosts, 62 days", all_, beside=month)
    _print_row(f"{HOSTS} hosts, nothing kept; the aim is ms", cold, aim=AIM_COLD_MS)


def _print_head(title: str) -> None:
    print(f"\n{title:<40}{'ms':>9}{'ratio':>9}{'aim':>9}{'cpu ms':>9}{'ratio':>9}")


def _print_row(name: str, took: Took, *, beside: Took | None = None, aim: float | None = None) -> None:
    ratios = [each / other if each and other else None for each, other in zip(took, beside or Took(0.0), strict=True)]
    ms, ratio, aimed, cpu, cpu_ratio = (
        "" if each is None else f"{each:.2f}" for each in (took.ms, ratios[0], aim, took.cpu, ratios[1])
    )
    print(f"{name:<40}{ms:>9}{ratio:>9}{aimed:>9}{cpu:>9}{cpu_ratio:>9}")


async def list_times(runtime: Runtime, which: ByPage | ByTeamPage, first: date, *, days: int) -> SlotContext:
    found, slots, zone = await availability.list_open_slots(
        runtime.work(PUBLIC),
        which,
        timezone=ZONE,
        first=first,
        last=first + timedelta(days=days - 1),
    )
    write_slots(slots, viewer=zone)
    return found


async def _best(
    runtime: Runtime, work: Callable[[], Awaitable[object]], *, before: Callable[[], None] = lambda: None
) -> Took:
    """Run something several times, and return its shortest time and its smallest processor time."""
    took = []
    for _ in range(ROUNDS):
        before()
        took.append(await _measure(runtime, work))
    return Took(min(each.ms for each in took), min(each.cpu for each in took if each.cpu))


async def _measure(runtime: Runtime, work: Callable[[], Awaitable[object]]) -> Took:
    """Run something once; on a busy machine processor time is steadier than time."""
    backends = [row["pid"] for row in await runtime.pool.fetch(BACKENDS)]
    began, used = perf_counter(), process_time() * 1000 + sum(map(used_by, backends)) / 1000
    await work()
    took = (perf_counter() - began) * 1000
    return Took(took, process_time() * 1000 + sum(map(used_by, backends)) / 1000 - used)


async def _print_bookings(here: Stage, runtime: Runtime, key: str, one: UUID, team: UUID) -> None:
    """Book a host alone and a host of a team in turns, so that both meet the same load."""
    first = system_clock().date()
    pairs = zip(*[await _list_starts(runtime, each, first) for each in (one, team)], strict=False)
    wishes = ((which, start) for starts in pairs for which, start in zip((one, team), starts, strict=True))
    slugs, tally = {one: "one", team: "booked"}, Tally()
    with service(here) as own:
        requests = (send("POST", "/api/v1/bookings", key, _wish(slugs[which], start)) for which, start in wishes)
        await run_load(own.port, requests, tally, count=2 * BOOKINGS, concurrency=1)
    if set(tally.statuses) != {200}:
        raise SystemExit(f"the service answered {tally.statuses}")
    _print_head("booking through the API")
    single, of_team = [Took(1000 * median(tally.latencies[place::2])) for place in (0, 1)]
    _print_row("one host", single)
    _print_row(f"one of {BOOKED} hosts", of_team, beside=single, aim=AIM_BOOKING)
    took: dict[UUID, list[Took]] = {one: [], team: []}
    for event_type_id, start in islice(wishes, 2 * BOOKINGS):
        took[event_type_id].append(await _measure(runtime, partial(_book, runtime, event_type_id, start)))
    single, of_team = [Took(*map(median, zip(*took[each], strict=True))) for each in (one, team)]
    _print_head("of that, written and committed")
    _print_row("one host", single)
    _print_row(f"one of {BOOKED} hosts", of_team, beside=single)


def _wish(slug: str, start: int) -> dict[str, str]:
    return {
        "eventTypeSlug": slug,
        "startTime": iso(at_second(start)),
        "inviteeName": "Li",
        "inviteeEmail": f"{new_id()}@wei.example",
        "inviteeTimezone": ZONE,
    }


async def _list_starts(runtime: Runtime, event_type_id: UUID, first: date) -> list[int]:
    """List open starts, each an hour after the last or more."""
    work, last = runtime.work(PUBLIC), first + timedelta(days=61)
    _, slots, _ = await availability.list_open_slots(
        work, ById(event_type_id), timezone=ZONE, first=first + timedelta(days=1), last=last
    )
    chosen: list[int] = []
    for start in slots.starts:
        if not chosen or start >= chosen[-1] + 3600:
            chosen.append(start)
    return chosen


async def _book(runtime: Runtime, event_type_id: UUID, start: int) -> None:
    invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone=ZONE)
    wanted = BookingWanted(which=ById(event_type_id), starts_at=at_second(start), invitee=invitee)
    async with runtime.transaction(PUBLIC) as work:
        await bookings.create_booking(work, wanted)


def _forget() -> None:
    """Forget what a process keeps from one answer to the next."""
    schemas.write_day.cache_clear()
    team_listing.KEPT.clear()
    free_hosts.find_worked.cache_clear()


if __name__ == "__main__":
    main()
