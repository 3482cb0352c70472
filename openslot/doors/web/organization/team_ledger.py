"""Page: the ledger of a team's event type: what waits, each host's share and standing, and the last choices."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.requests.operations import list_requests_of_event_type
from openslot.domains.teams import replay
from openslot.domains.teams.choice import BOOKING, explain
from openslot.domains.teams.models import AssignmentReason, Balance, ChoiceRule, LastChoice, MemberShare
from openslot.doors.http.doors import Exchange
from openslot.doors.web.organization.teams import HERE, get_hosted
from openslot.doors.web.shared.charts import share_of
from openslot.doors.web.shared.figures import Percent, ShownNumber
from openslot.doors.web.shared.handed_over import HANDED_OVER
from openslot.doors.web.shared.organization import get_own_membership, organization_page
from openslot.doors.web.shared.requests import ANSWERED, list_days
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Response, get

RULES = {
    ChoiceRule.NAMED: Text("Chosen by hand"),
    ChoiceRule.SERIES: Text("Hosts the first date of the series"),
    ChoiceRule.ONLY_FREE: Text("Nobody else was free"),
    ChoiceRule.PRIORITY: Text("Highest priority of those who were free"),
    ChoiceRule.BEHIND: Text("Furthest behind their share"),
    ChoiceRule.LONGEST_AGO: Text("Level with others, and not chosen for longest"),
}
FEWEST = Text("Fewest bookings for their weight")
# How a choice came about, beside the rule; most are made when somebody books.
REMARKS = {
    AssignmentReason.SERIES: Text("Booked for several weeks"),
    AssignmentReason.HELD: Text("Held while the form was filled in"),
    AssignmentReason.RESCHEDULED: Text("Rescheduled"),
    AssignmentReason.REASSIGNED: Text("Handed over"),
    AssignmentReason.REPLACED: Text("Took over from a host who left"),
}
BALANCES = {
    Balance.SHARE: Text("Of the bookings for which they were free, everybody gets their share by weight."),
    Balance.TOTAL: Text(
        "Everybody ends with the same number of bookings for their weight, however often they were free."
    ),
}
FORMER = Text("a former member")
MAX_CHOICES = 25


class ShownShare(Struct, frozen=True, kw_only=True):
    member: MemberShare
    length: float
    """The length of the bar of their bookings, in per cent of the longest."""
    of_bookings: Percent | None
    by_weight: Percent | None
    """None if all weigh the same."""
    standing: Text | None
    """How far they are behind or ahead; None if that does not decide, here and below."""
    due: ShownNumber | None
    """How many bookings they would have had by what they have earned."""
    mark: float | None
    """Where the bar would end then."""


class ShownGroup(Struct, frozen=True, kw_only=True):
    pick: int
    members: tuple[ShownShare, ...]
    furthest: ShownNumber | None
    """How many bookings at most somebody is away from what is due; None if nothing is."""


class ShownChoice(Struct, frozen=True, kw_only=True):
    at: datetime
    chosen: tuple[str, ...]
    reason: Text
    remark: Text | None
    also_free: tuple[str, ...]
    starts_at: datetime | None
    """When the meeting begins."""
    is_cancelled: bool
    hand_over: str | None
    """Where it is given to another host, if the reader may."""
    is_waiting: bool
    is_unconfirmed: bool


@get("/organization/teams/{team_id}/event-types/{event_type_id}/ledger")
async def show_ledger(request: Exchange, work: Work, user: User, team_id: UUID, event_type_id: UUID) -> Response:
    hosted = await get_hosted(request, work, user, team_id, event_type_id)
    event_type = hosted.event_type
    shares = await replay.list_shares(work, event_type.id)
    choices = await replay.list_last_choices(work, event_type.id, user, limit=MAX_CHOICES)
    may_wait = event_type.requires_confirmation or any(each.is_waiting for each in choices)
    waiting = await list_requests_of_event_type(work, user, event_type.id) if may_wait else []
    names = {each.user_id: each.name for each in shares}
    return organization_page(
        "team_ledger.html",
        request,
        get_own_membership(request),
        here=HERE,
        team=hosted.team,
        manages=hosted.manages,
        event_type=event_type,
        explanation=BALANCES[shares[0].balance] if shares else None,
        is_by_share=not shares or shares[0].balance is Balance.SHARE,
        groups=[_show_group(list(group)) for _, group in groupby(shares, key=lambda each: each.position)],
        choices=_show_choices(choices, names),
        days=list_days(work, user, waiting),
        notices={"handed-over": HANDED_OVER, **ANSWERED},
    )


def write_standing(credit: int) -> Text:
    """Say in bookings, with two decimals, how far somebody is behind or ahead of their share."""
    amount = round(abs(credit) / BOOKING, 2)
    if not amount:
        return Text("Exactly at their share")
    if amount == 1:
        return Text("1 booking behind") if credit > 0 else Text("1 booking ahead")
    shown = ShownNumber(amount)
    if credit > 0:
        return Text("%(amount)s bookings behind", amount=shown)
    return Text("%(amount)s bookings ahead", amount=shown)


def _show_group(members: Sequence[MemberShare]) -> ShownGroup:
    had, weight = sum(each.had for each in members), sum(each.weight for each in members)
    is_by_share = members[0].balance is Balance.SHARE
    due = [max(each.had + each.credit / BOOKING, 0) if is_by_share else 0 for each in members]
    most = max(*due, *(each.had for each in members))
    weighs_alike = len({each.weight for each in members if each.weight}) <= 1
    shown = [
        ShownShare(
            member=each,
            length=share_of(each.had, most),
            of_bookings=Percent(each.had / had) if had else None,
            by_weight=None if weighs_alike or not weight else Percent(each.weight / weight),
            standing=write_standing(each.credit) if is_by_share else None,
            due=ShownNumber(round(earned, 2)) if is_by_share else None,
            mark=share_of(earned, most) if is_by_share and most else None,
        )
        for each, earned in zip(members, due, strict=True)
    ]
    furthest = round(max(abs(each.credit) for each in members) / BOOKING, 2)
    return ShownGroup(
        pick=members[0].pick,
        members=tuple(shown),
        furthest=ShownNumber(furthest) if is_by_share and had and furthest else None,
    )


def _show_choices(last: Sequence[LastChoice], names: dict[UUID, str]) -> list[ShownChoice]:
    """Show choices, of which only the newest for a place in a booking says who hosts it."""
    shown, seen = [], set[tuple[UUID | None, UUID]]()
    for each in last:
        place = each.choice.booking_id, each.choice.group_id
        shown.append(_show_choice(each, names, can_hand_over=each.can_hand_over and place not in seen))
        seen.add(place)
    return shown


def _show_choice(last: LastChoice, names: dict[UUID, str], *, can_hand_over: bool) -> ShownChoice:
    choice, rule = last.choice, explain(last.choice.asked, last.choice.chosen)
    free = (each.user_id for each in choice.asked.candidates if each.is_free and each.user_id not in choice.chosen)
    path = f"/bookings/{last.booking_id}/hand-over?place={choice.chosen[0]}"
    return ShownChoice(
        at=choice.at,
        chosen=_name(choice.chosen, names),
        reason=FEWEST if rule is ChoiceRule.BEHIND and choice.asked.balance is Balance.TOTAL else RULES[rule],
        remark=REMARKS.get(choice.reason),
        also_free=_name(free, names),
        starts_at=last.starts_at,
        is_cancelled=last.is_cancelled,
        hand_over=path if can_hand_over else None,
        is_waiting=last.is_waiting,
        is_unconfirmed=last.is_unconfirmed,
    )


def _name(user_ids: Iterable[UUID], names: dict[UUID, str]) -> tuple[str, ...]:
    return tuple(names.get(user_id, FORMER) for user_id in user_ids)
