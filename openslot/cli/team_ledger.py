"""team ledger, replay, simulate: who has had how many bookings of a team, why, and what if."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import typer

from openslot.cli.command import Limit, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.teams import hosting
from openslot.domains.teams.choice import BOOKING
from openslot.domains.teams.ledger.operations import load_groups
from openslot.domains.teams.models import ListedTeamMember
from openslot.domains.teams.operations import find_team_members, get_team_by_slug, list_team_members
from openslot.domains.teams.replay import count_had_bookings, list_last_entries, replay_choices, simulate_weights
from openslot.domains.teams.rules import MAX_WEIGHT
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work

app = group("The ledger of a team.")

Slug = Annotated[str, typer.Argument(help="The team's slug", metavar="TEAM")]


@command(app, "ledger")
async def show_ledger(work: Work, team: Slug, limit: Limit = 50) -> Answer:
    """Show how many bookings each host of a team has and how far they are behind; --json adds the last entries."""
    found = await get_team_by_slug(work, team)
    had = await count_had_bookings(work, found.id)
    shown, rows = [], []
    for event_type in await hosting.list_team_event_types(work, found):
        for loaded in await load_groups(work, event_type.id):
            number = loaded.group.position + 1
            for member in loaded.members:
                count = had.get((member.group_id, member.user_id), 0)
                more = {"event_type": event_type.slug, "group": number, "bookings": count}
                shown.append(pick(member, "group_id user_id email weight priority credit", **more))
                rows.append((event_type.slug, number, member.email, member.weight, count, _write(member.credit)))
    entries = [
        pick(each, "group_id user_id assignment_id booking_id delta served reason at")
        for each in await list_last_entries(work, found.id, limit=limit)
    ]
    return Answer(
        {"members": shown, "entries": entries},
        TableRows(("Event type", "Group", "Host", "Weight", "Bookings", "Behind"), rows, "No hosts yet."),
    )


@command(app, "replay")
async def replay_team(work: Work, team: Slug) -> Answer:
    """Make every choice of hosts again, and sum up every credit; exit with 1 if something differs."""
    found = await get_team_by_slug(work, team)
    made = await replay_choices(work, found.id)
    text = (
        f"{made.equal} of {made.choices} choices are the same when they are made again; "
        f"hosts named by hand: {made.named}. {made.credits} credits were summed up."
    )
    differences = [pick(each, "group_id assignment_id message") for each in made.differences]
    return Answer(
        pick(made, "choices equal named credits", differences=differences),
        text,
        warnings=[f"{each.assignment_id or each.group_id}: {each.message}" for each in made.differences],
        exit_code=1 if made.differences else 0,
    )


@command(app, "simulate")
async def simulate_team(
    work: Work,
    team: Slug,
    weight: Annotated[list[str] | None, typer.Option("--weight", help="Such as ana@example.com=200")] = None,
    days: Annotated[int, typer.Option(help="How many days back", min=1, max=730)] = 30,
) -> Answer:
    """Tell who would have had how many bookings with other weights, if those had been free who were."""
    found = await get_team_by_slug(work, team)
    members = await list_team_members(work, found)
    words = [word.rpartition("=")[0] for word in weight or []]
    weights = _read_weights(weight or [], await find_team_members(work, found, words))
    since = work.now - timedelta(days=days)
    made = await simulate_weights(work, found.id, weights=weights, since=since)
    emails = {each.member.user_id: each.email for each in members}
    named = sorted((emails.get(user_id, str(user_id)), each) for user_id, each in made.items())
    rows = [(email, each.had, each.would_have_had) for email, each in named]
    shown = [pick(each, "had would_have_had", email=email) for email, each in named]
    columns = ("Host", "Bookings", "With these weights")
    return Answer({"members": shown}, TableRows(columns, rows, f"No host was chosen in the last {days} days."))


def _read_weights(words: Iterable[str], known: Mapping[str, ListedTeamMember]) -> dict[UUID, int]:
    weights = {}
    for word in words:
        email, _, weight = word.rpartition("=")
        if email not in known:
            raise Invalid(details={"weight": f"{email or word} is not a member of the team"})
        if not weight.isdecimal() or int(weight) > MAX_WEIGHT:
            raise Invalid(details={"weight": f"the weight of {email} must be from 0 to {MAX_WEIGHT}"})
        weights[known[email].member.user_id] = int(weight)
    return weights


def _write(credit: int) -> str:
    """Write a credit in bookings."""
    return f"{Decimal(credit) / BOOKING:+.2f}"
