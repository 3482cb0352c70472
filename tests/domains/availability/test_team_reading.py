"""What is read of a team: who can host, what takes their time, what counts, and by which address it is found."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability import operations as availability
from openslot.domains.availability.models import ByBooking, ById, ByPage, BySlug, ByTeamPage, Code, EventTypeRef
from openslot.domains.availability.slots import judge, judge_hosts
from openslot.domains.availability.store import find_setting
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.models import EventType
from openslot.domains.teams import operations as teams
from openslot.domains.teams.choice import choose
from openslot.domains.teams.ledger import operations as ledger
from openslot.domains.teams.models import AssignmentReason, Balance, ChoiceAsked, GroupWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY
from tests.support.founding import FoundedTeam, add_event_type, found_team, no_rules, pick_of
from tests.support.host import clock, settings

__all__ = ["clock", "settings"]

TEN = MONDAY.replace(hour=10)
CLAIM = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, tstzrange($5, $6), $5, $7)"""


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


async def claim(
    runtime: Runtime,
    host: User,
    starts_at: datetime = TEN,
    *,
    event_type: EventType | None = None,
    kind: str = "booking",
    expires_at: datetime | None = None,
    minutes: int = 30,
) -> UUID:
    claim_id, ends_at = new_id(), starts_at + timedelta(minutes=minutes)
    event_type_id = event_type.id if event_type else None
    await runtime.pool.execute(CLAIM, claim_id, host.no, kind, event_type_id, starts_at, ends_at, expires_at)
    return claim_id


async def list_times(runtime: Runtime, which: EventTypeRef, **more: Any) -> list[str]:
    _, slots, _ = await availability.list_open_slots(
        runtime.work(OPERATOR), which, timezone="UTC", first=MONDAY.date(), last=MONDAY.date(), **more
    )
    return [f"{datetime.fromtimestamp(start, UTC):%H:%M}" for start in slots.starts]


async def test_every_address_of_an_event_type_lists_its_team(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded, pick_of(3, founded.hosts))
    await claim(runtime, founded.hosts[1])
    refs: list[EventTypeRef] = [
        BySlug(made.owner_id, "demo"),
        ById(made.id),
        ByBooking(made.id),
        ByTeamPage("sales", "demo"),
    ]
    for which in refs:
        times = await list_times(runtime, which)
        assert [each for each in times if "09:30" <= each < "11:00"] == ["09:30", "10:30"], which


async def test_what_a_team_offers_is_not_on_the_page_of_its_owner(
    runtime: Runtime, founded: FoundedTeam, client: httpx2.AsyncClient
) -> None:
    await add_event_type(runtime, founded)
    username = await runtime.pool.fetchval("select username from users where id = $1", founded.hosts[0].id)
    with pytest.raises(EventTypeNotFound):
        await list_times(runtime, ByPage(username, "demo"))
    assert (await client.get(f"/{username}/demo")).status_code == 404
    assert "/demo" not in (await client.get(f"/{username}")).text
    for wrong in (ByTeamPage("sales", "other"), ByTeamPage("nobody", "demo"), ByTeamPage("sales\n", "demo")):
        with pytest.raises(EventTypeNotFound):
            await list_times(runtime, wrong)


async def test_pages_are_told_the_team_and_not_its_owner(runtime: Runtime, founded: FoundedTeam) -> None:
    await add_event_type(runtime, founded)
    found = await availability.get_slot_context(runtime.work(OPERATOR), ByTeamPage("sales", "demo"))
    assert (found.host_name, found.host_username, found.host_photo) == ("Sales", "team/sales", None)


async def test_who_has_left_or_is_disabled_hosts_nothing(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded, pick_of(1, founded.hosts[1:]))
    await claim(runtime, founded.hosts[1])
    assert "10:00" in await list_times(runtime, ById(made.id))
    await runtime.pool.execute("update users set disabled_at = now() where id = $1", founded.hosts[2].id)
    assert "10:00" not in await list_times(runtime, ById(made.id))
    async with runtime.transaction(OPERATOR) as work:
        await teams.remove_team_member(work, founded.team, founded.hosts[1].id)
    assert await list_times(runtime, ById(made.id)) == []


async def test_members_by_attributes_are_those_of_the_moment(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded, GroupWanted(filter={"language": ("de", "fr")}))
    assert await list_times(runtime, ById(made.id)) == []
    async with runtime.transaction(OPERATOR) as work:
        member = await teams.get_team_member(work, founded.team, founded.hosts[2].id)
        await teams.change_team_member(work, replace(member, attributes={"language": "FR"}))
    assert "10:00" in await list_times(runtime, ById(made.id))


async def test_calendars_and_time_away_of_each_host_count(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded, pick_of(2, founded.hosts))
    busy = "insert into busy_spans (host_no, source, uid, during) values ($1, 'Work', 'a', $2)"
    await runtime.pool.execute(busy, founded.hosts[0].no, asyncpg.Range(TEN, TEN + timedelta(hours=1)))
    assert "10:00" in await list_times(runtime, ById(made.id))
    away = """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values ($1, $2, $3, $4, '', $3)"""
    await runtime.pool.execute(away, new_id(), founded.hosts[1].id, TEN, TEN + timedelta(hours=2))
    times = await list_times(runtime, ById(made.id))
    assert [each for each in times if each < "12:00"] == ["09:00", "09:30", "11:00", "11:30"]
    source = "insert into busy_sources (id, host_no, name, closes_at) values ($1, $2, 'Work', $3)"
    await runtime.pool.execute(source, new_id(), founded.hosts[2].no, MONDAY)
    assert (await list_times(runtime, ById(made.id)))[:3] == ["09:00", "09:30", "12:00"]


# A meeting of half an hour with buffers of 15 and 20 minutes is closed from 15 minutes before to 50 after its start.
@pytest.mark.parametrize(
    ("first", "until", "code"),
    [
        (-60, -15, Code.OPEN),
        (-60, -14, Code.TAKEN),
        (-24 * 60, -14, Code.TAKEN),
        (49, 60, Code.TAKEN),
        (50, 60, Code.OPEN),
        (10, 24 * 60 + 49, Code.TAKEN),
        (10, 24 * 60 + 51, Code.TAKEN),
        (-40 * 24 * 60, 40 * 24 * 60, Code.TAKEN),
        (-40 * 24 * 60, -15, Code.OPEN),
        (50, 40 * 24 * 60, Code.OPEN),
    ],
)
async def test_a_host_is_judged_by_all_that_touches_the_meeting(
    runtime: Runtime, founded: FoundedTeam, first: int, until: int, code: Code
) -> None:
    made = await add_event_type(runtime, founded, pick_of(2, founded.hosts[:2]))
    await runtime.pool.execute("update event_types set buffer_before = 15, buffer_after = 20 where id = $1", made.id)
    busy = "insert into busy_spans (host_no, source, uid, during) values ($1, 'Work', 'a', $2)"
    span = asyncpg.Range(TEN + timedelta(minutes=first), TEN + timedelta(minutes=until))
    await runtime.pool.execute(busy, founded.hosts[0].no, span)
    # A meeting is at most a day long.
    if until - first <= 24 * 60:
        await claim(runtime, founded.hosts[1], span.lower, minutes=until - first)
    found = await find_setting(
        runtime.pool, ById(made.id), asked_from=TEN, asked_until=TEN + timedelta(seconds=1), now=MONDAY
    )
    assert found is not None
    by_calendar, by_claim = judge_hosts(found.inputs, TEN).values()
    assert by_calendar is (Code.BUSY if code is Code.TAKEN else code)
    assert by_claim is (code if until - first <= 24 * 60 else Code.OPEN)


async def test_expired_holds_close_nothing(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded, pick_of(3, founded.hosts))
    await claim(runtime, founded.hosts[0], kind="hold", expires_at=MONDAY)
    assert "10:00" in await list_times(runtime, ById(made.id))
    found = await find_setting(runtime.pool, ById(made.id), asked_from=TEN, asked_until=TEN, now=MONDAY)
    assert found is not None
    assert [each.has_stale for each in found.inputs.hosts.values()] == [True, False, False]
    await claim(runtime, founded.hosts[1], kind="hold", expires_at=MONDAY + timedelta(minutes=1))
    assert "10:00" not in await list_times(runtime, ById(made.id))


async def host_booking(runtime: Runtime, event_type: EventType, hosts: tuple[User, ...], starts_at: datetime) -> UUID:
    """Write the hosts of a hold, which are read as those of a booking are; the first claim names all of them."""
    claims = [
        await claim(
            runtime, each, starts_at, event_type=event_type, kind="hold", expires_at=MONDAY + timedelta(hours=1)
        )
        for each in hosts
    ]
    group = await runtime.pool.fetchval("select id from host_groups where event_type_id = $1", event_type.id)
    for each, claim_id in zip(hosts, claims, strict=True):
        await runtime.pool.execute(
            "insert into held_hosts values ($1, $2, $3, $4)", claim_id, claims[0], each.id, group
        )
    return claims[0]


async def test_what_is_about_to_change_is_left_out_with_all_its_hosts(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded, pick_of(3, founded.hosts))
    first = await host_booking(runtime, made, founded.hosts, TEN)
    assert "10:00" not in await list_times(runtime, ById(made.id))
    assert "10:00" in await list_times(runtime, ById(made.id), without=first)


async def test_a_booking_with_three_hosts_counts_once_for_the_event_type(
    runtime: Runtime, founded: FoundedTeam
) -> None:
    made = await add_event_type(runtime, founded, pick_of(3, founded.hosts))
    await runtime.pool.execute("update event_types set limit_per_day = 2 where id = $1", made.id)
    await host_booking(runtime, made, founded.hosts, TEN)
    assert "11:00" in await list_times(runtime, ById(made.id))
    second = await host_booking(runtime, made, founded.hosts, TEN + timedelta(hours=3))
    assert await list_times(runtime, ById(made.id)) == []
    assert "11:00" in await list_times(runtime, ById(made.id), without=second)


async def test_limits_of_hosts_count_the_event_type_or_everything(runtime: Runtime, founded: FoundedTeam) -> None:
    rules = replace(no_rules(), host_per_day=1)
    made = await add_event_type(runtime, founded, pick_of(1, founded.hosts[:1]), rules=rules)
    await claim(runtime, founded.hosts[0])
    assert "11:00" in await list_times(runtime, ById(made.id))
    await claim(runtime, founded.hosts[0], TEN + timedelta(hours=4), event_type=made)
    assert await list_times(runtime, ById(made.id)) == []
    await runtime.pool.execute("update team_rules set host_per_day = 2, host_total_per_week = 2")
    assert await list_times(runtime, ById(made.id)) == []
    # What is at the other end of the week is far from the day that is asked for, and counts.
    await runtime.pool.execute("delete from claims where event_type_id is null")
    assert "11:00" in await list_times(runtime, ById(made.id))
    await claim(runtime, founded.hosts[0], TEN + timedelta(days=6))
    assert await list_times(runtime, ById(made.id)) == []


async def test_who_is_too_far_ahead_is_not_listed(runtime: Runtime, founded: FoundedTeam) -> None:
    rules = replace(no_rules(), balance=Balance.TOTAL, max_lead=1)
    made = await add_event_type(runtime, founded, pick_of(1, founded.hosts[:2]), rules=rules)
    await claim(runtime, founded.hosts[1])
    async with runtime.transaction(OPERATOR) as work:
        await ledger.settle_credits(work, made.id)
        for _ in range(2):
            group, *_ = await ledger.load_groups(work, made.id)
            first = [replace(each, is_free=each.host_no == founded.hosts[0].no) for each in group.candidates]
            choice = choose(first, pick=1, rules=group.rules)
            assert choice is not None
            assert "10:00" in await list_times(runtime, ById(made.id))
            asked = ChoiceAsked(pick=1, balance=Balance.TOTAL, max_lead=1, candidates=tuple(first))
            ledger.assign_hosts(work, group.group, choice, asked, AssignmentReason.BOOKED, booking_id=new_id())
            await work.apply()
    assert "10:00" not in await list_times(runtime, ById(made.id))
    explained = await availability.explain_start_time(runtime.work(OPERATOR), ById(made.id), TEN)
    assert "Host 0 is 2 ahead" in [each.sentence for each in explained.reasons]


async def test_a_start_is_judged_and_explained_as_it_is_listed(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded, pick_of(2, founded.hosts[:2]))
    await claim(runtime, founded.hosts[1])
    work, which = runtime.work(OPERATOR), ById(made.id)
    found = await find_setting(runtime.pool, which, asked_from=TEN, asked_until=TEN + timedelta(seconds=1), now=MONDAY)
    assert found is not None
    assert judge(found.inputs, TEN) is Code.NO_HOSTS
    numbers = [each.no for each in founded.hosts[:2]]
    assert judge_hosts(found.inputs, TEN) == dict(zip(numbers, (Code.OPEN, Code.TAKEN), strict=True))
    explained = await availability.explain_start_time(work, which, TEN)
    assert [each.sentence for each in explained.reasons] == [
        "Only 1 of 2 needed hosts is free",
        "Host 1 is in a meeting",
    ]
    whole = await availability.explain_whole_day(work, which, MONDAY.date())
    assert [(each.starts_at, each.code) for each in whole.starts if each.code is not Code.OPEN][-1] == (
        TEN,
        Code.NO_HOSTS,
    )
    _, day = await availability.explain_on(work, which, MONDAY.date())
    assert day.open == len(await list_times(runtime, which))
    nearest = await availability.list_nearest_slots(work, which, TEN)
    assert not nearest.is_open
    assert len(nearest.starts) == 3
    month = await availability.list_month_of_slots(work, which, month=date(2026, 3, 1))
    assert str(month.zone) == "UTC"
    assert TEN.timestamp() not in month.slots.starts
