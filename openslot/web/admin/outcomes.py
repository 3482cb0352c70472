"""What would happen if an agent's call were approved, in words and with the bookings that it touches."""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

from msgspec import Struct

from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.accounts.plans import PLANS_WITH_API, Plan
from openslot.agents.approval_rules import Approval
from openslot.bookings import agenda
from openslot.bookings import operations as bookings
from openslot.bookings.models import AgendaFilter, AgendaView, BookingRef, Status
from openslot.core.errors import NotFound
from openslot.core.ids import parse_id
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.web import words
from openslot.web.dashboard import phrases
from openslot.web.dashboard.entries import DayOfRows, by_day

MOST_BOOKINGS = 25

Arguments = Mapping[str, object]


class OutcomePreview(Struct, frozen=True, kw_only=True):
    """What a call would do."""

    sentences: tuple[Text, ...] = ()
    days: list[DayOfRows] = []
    """The bookings that would be cancelled."""
    more: int = 0
    """How many of them are not listed."""


async def describe_outcome(work: Work, reader: User, approval: Approval) -> OutcomePreview:
    """Look up what a call is about as it is now."""
    describe = DESCRIBED.get(approval.tool)
    if describe is None:
        return OutcomePreview()
    try:
        return await describe(work, reader, approval.arguments or {})
    except NotFound:
        return OutcomePreview(sentences=(Text("The target no longer exists, so the call would be refused."),))


async def list_closing(work: Work, reader: User, user: User) -> OutcomePreview:
    """Return what closing an account cancels."""
    found = await agenda.list_agenda(work, user, AgendaFilter(view=AgendaView.UPCOMING), limit=MOST_BOOKINGS)
    return OutcomePreview(
        sentences=(
            Text("%(name)s can no longer sign in, and the booking page and the API keys stop working.", name=user.name),
            PluralText(
                "%(count)s upcoming booking will be cancelled, and the invitee will be notified by email.",
                "%(count)s upcoming bookings will be cancelled, and the invitees will be notified by email.",
                count=found.total,
            )
            if found.total
            else Text("There are no upcoming bookings to cancel."),
        ),
        days=by_day(found.entries, reader, failed={}, now=work.now),
        more=max(found.total - MOST_BOOKINGS, 0),
    )


async def _cancel_booking(work: Work, reader: User, arguments: Arguments) -> OutcomePreview:
    details = await bookings.get_booking(work, BookingRef(_id_of(arguments, "bookingId"), None))
    booking = details.booking
    host = await accounts.get_user(work, booking.host_id)
    when = phrases.day_and_hours(booking.starts_at, booking.ends_at, reader.zone, now=work.now)
    about = Text(
        "“%(event)s” of %(host)s with %(invitee)s, %(when)s",
        event=details.event_type.name,
        host=host.name,
        invitee=booking.invitee_name,
        when=when,
    )
    if booking.status is Status.CANCELLED:
        return OutcomePreview(sentences=(about, Text("It is already cancelled, so nothing would change.")))
    if booking.ends_at <= work.now:
        return OutcomePreview(sentences=(about, Text("It is over, so the call would be refused.")))
    told = Text("It will be cancelled and its time freed. The host, invitee and guests will be notified by email.")
    return OutcomePreview(sentences=(about, told))


async def _change_user_plan(work: Work, reader: User, arguments: Arguments) -> OutcomePreview:
    user = await accounts.get_user(work, _id_of(arguments, "userId"))
    plan = Plan(str(arguments.get("plan")))
    changes = Text(
        "%(name)s (%(email)s) gets the plan %(plan)s instead of %(before)s.",
        name=user.name,
        email=user.email,
        plan=words.PLANS[plan],
        before=words.PLANS[user.plan],
    )
    if user.plan in PLANS_WITH_API and plan not in PLANS_WITH_API:
        lost = Text("API keys stop working, unless a trial or an organization gives the plan.")
        return OutcomePreview(sentences=(changes, lost))
    return OutcomePreview(sentences=(changes,))


async def _disable_user(work: Work, reader: User, arguments: Arguments) -> OutcomePreview:
    return await list_closing(work, reader, await accounts.get_user(work, _id_of(arguments, "userId")))


def _id_of(arguments: Arguments, name: str) -> UUID:
    return parse_id(str(arguments.get(name)))


DESCRIBED: dict[str, Callable[[Work, User, Arguments], Awaitable[OutcomePreview]]] = {
    "cancel_booking": _cancel_booking,
    "change_user_plan": _change_user_plan,
    "disable_user": _disable_user,
}
