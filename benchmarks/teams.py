"""Free times of a team: 50 hosts over 62 days beside one host's month, and 500 hosts for the first time."""

from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from time import perf_counter
from uuid import UUID

import asyncpg
import uvloop
from msgspec.structs import replace

from benchmarks.effects import open_runtime_at
from benchmarks.stage import Stage, stage
from openslot.accounts import members, organizations
from openslot.accounts.models import Role, User
from openslot.accounts.operations import get_user
from openslot.accounts.plans import Plan
from openslot.availability import operations as availability
from openslot.availability import team_slots, team_store
from openslot.availability.models import ByBooking, SlotContext
from openslot.availability.schemas import write_slots
from openslot.core.actor import OPERATOR
from openslot.core.ids import new_id
from openslot.core.migrate import migrate
from openslot.core.work import Runtime, Work, system_clock
from openslot.demo.large import make_large
from openslot.event_types import operations as event_types
from openslot.schedules import operations as schedules
from openslot.teams import hosting
from openslot.teams import operations as teams
from openslot.teams.models import GroupWanted, HostWanted, TeamRules

HOSTS, SMALL = 500, 50
ROUNDS = 15
AIM_RATIO, AIM_COLD_MS = 2.0, 60.0
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


def main() -> None:
    """Write hosts with full calendars, measure, print."""
    with stage() as here:
        uvloop.run(_measure_all(here))


async def _measure_all(here: Stage) -> None:
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
            one, small, large = await _make_event_types(work, hosts)
        await runtime.pool.execute("vacuum analyze")
        await _print_rows(runtime, one, small, large)


async def _make_event_types(work: Work, hosts: list[User]) -> tuple[UUID, UUID, UUID]:
    """Add an event type that one host has, and two of a team of all, of which some or all hosts are picked."""
    organization = await organizations.add_organization(work, name="Bench", slug="bench", plan=Plan.BUSINESS)
    for each in hosts:
        await members.add_member(work, organization, each, role=Role.OWNER if each is hosts[0] else Role.MEMBER)
    team = await teams.add_team(work, organization, name="Everybody", zone=ZONE)
    await teams.add_members(work, team, [each.id for each in hosts])
    schedule, *_ = await schedules.list_schedules(work, hosts[0])
    made = []
    for slug, count in (("one", 1), ("small", SMALL), ("large", HOSTS)):
        wanted = event_types.draft(work, schedule, name=slug, slug=slug, duration_minutes=30)
        wanted = replace(wanted, slot_interval_minutes=15)
        if count == 1:
            made.append((await event_types.add_event_type(work, schedule, wanted)).id)
            continue
        pool = GroupWanted(hosts=tuple(HostWanted(user_id=each.id) for each in hosts[:count]))
        rules = TeamRules(event_type_id=new_id())
        made.append((await hosting.add_team_event_type(work, team, hosts[0], wanted, groups=[pool], rules=rules)).id)
    one, small, large = made
    return one, small, large


async def _print_rows(runtime: Runtime, one: UUID, small: UUID, large: UUID) -> None:
    first = system_clock().date()
    month = await _best(lambda: _list(runtime, one, first, days=31))
    days = await _best(lambda: _list(runtime, small, first, days=62))
    all_ = await _best(lambda: _list(runtime, large, first, days=62))
    cold = await _best(lambda: _list(runtime, large, first, days=62), before=_forget)
    print(f"\n{'free times, read and written':<40}{'ms':>9}{'ratio':>9}{'aim':>9}")
    print(f"{'one host, 31 days':<40}{month:>9.2f}")
    print(f"{f'{SMALL} hosts, 62 days':<40}{days:>9.2f}{days / month:>9.2f}{AIM_RATIO:>9.2f}")
    print(f"{f'{HOSTS} hosts, 62 days':<40}{all_:>9.2f}{all_ / month:>9.2f}")
    print(f"{f'{HOSTS} hosts, nothing kept, ms':<40}{cold:>9.2f}{'':>9}{AIM_COLD_MS:>9.2f}")


async def _list(runtime: Runtime, event_type_id: UUID, first: date, *, days: int) -> SlotContext:
    found, slots, zone = await availability.list_open(
        runtime.work(OPERATOR),
        ByBooking(event_type_id),
        timezone=ZONE,
        first=first,
        last=first + timedelta(days=days - 1),
    )
    write_slots(slots, viewer=zone)
    return found


async def _best(work: Callable[[], Awaitable[SlotContext]], *, before: Callable[[], None] = lambda: None) -> float:
    times = []
    for _ in range(ROUNDS):
        before()
        began = perf_counter()
        await work()
        times.append(perf_counter() - began)
    return min(times) * 1000


def _forget() -> None:
    """Forget what a process keeps from one answer to the next."""
    team_slots.lay_team_grid.cache_clear()
    team_slots.find_worked.cache_clear()
    team_store.read_hours.cache_clear()


if __name__ == "__main__":
    main()
