"""team ledger, replay and simulate, for people and for scripts."""

import asyncio
from uuid import UUID, uuid4

import pytest

from openslot.domains.teams.choice import choose
from openslot.domains.teams.ledger import operations as ledger
from openslot.domains.teams.models import AssignmentReason, ChoiceAsked
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.support.command_line import Cli, Run
from tests.support.founding import FoundedTeam, add_event_type, found_team


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    """A team of two, who were both free for three bookings."""
    founded = await found_team(runtime, hosts=2)
    event_type = await add_event_type(runtime, founded)
    for _ in range(3):
        await book(runtime, event_type.id)
    return founded


async def book(runtime: Runtime, event_type_id: UUID) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await ledger.settle_credits(work, event_type_id)
        (loaded,) = await ledger.load_groups(work, event_type_id)
        choice = choose(loaded.candidates, pick=1, rules=loaded.rules)
        assert choice is not None
        asked = ChoiceAsked(pick=1, balance=loaded.rules.balance, candidates=loaded.candidates)
        ledger.assign_hosts(work, loaded.group, choice, asked, AssignmentReason.BOOKED, booking_id=uuid4())
        await work.apply()


async def test_the_ledger_shows_bookings_credits_and_entries(founded: FoundedTeam, cli: Cli) -> None:
    shown = await asyncio.to_thread(cli, "team", "ledger", founded.team.slug, "--json")
    members = [(each["email"], each["weight"], each["bookings"], each["credit"]) for each in shown["members"]]
    one, other = (host.email for host in founded.hosts)
    assert members == [(one, 100, 2, -500_000), (other, 100, 1, 500_000)]
    assert len(shown["entries"]) == 6
    assert {each["reason"] for each in shown["entries"]} == {"booked"}
    text = await asyncio.to_thread(cli, "team", "ledger", founded.team.slug)
    assert "-0.50" in text
    assert "+0.50" in text


async def test_choices_are_made_again_and_a_difference_ends_with_1(
    founded: FoundedTeam, runtime: Runtime, command_line: Run
) -> None:
    result = await asyncio.to_thread(command_line, "team", "replay", founded.team.slug)
    assert result.exit_code == 0
    assert result.stdout.startswith("3 of 3 choices are the same when they are made again")
    await runtime.pool.execute("update assignments set chosen = array[$1::uuid]", founded.hosts[1].id)
    result = await asyncio.to_thread(command_line, "team", "replay", founded.team.slug)
    assert result.exit_code == 1
    assert result.stdout.startswith("1 of 3 choices")
    assert result.stderr.count("Others are chosen when it is made again.") == 2


async def test_other_weights_are_tried(founded: FoundedTeam, cli: Cli, command_line: Run) -> None:
    one, other = (host.email for host in founded.hosts)
    words = ("team", "simulate", founded.team.slug, "--weight", f"{other}=1000", "--json")
    assert (await asyncio.to_thread(cli, *words))["members"] == [
        {"email": one, "had": 2, "wouldHaveHad": 0},
        {"email": other, "had": 1, "wouldHaveHad": 3},
    ]
    for wrong, message in (
        ("x@y.example=5", "x@y.example is not a member of the team"),
        (f"{one}=5000", f"the weight of {one} must be from 0 to 1000"),
        (f"{one}=-1", "must be from 0 to 1000"),
        ("nonsense", "nonsense is not a member"),
    ):
        with pytest.raises(Invalid) as refused:
            await asyncio.to_thread(command_line, "team", "simulate", founded.team.slug, "--weight", wrong)
        assert message in str(refused.value.details)
