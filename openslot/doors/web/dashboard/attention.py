"""What needs a host's attention on the first screen, each with the page where it is repaired or can be seen."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.allowances.errors import COSTS
from openslot.domains.allowances.models import CauseKind, RefusedCost
from openslot.domains.event_types.models import EventType
from openslot.domains.mail.notices import POT_NAMES
from openslot.domains.mail.operations import MAX_MAILS_KEPT
from openslot.domains.payments.models import Problem
from openslot.domains.payments.words import PROBLEMS
from openslot.domains.timeline.models import Attention, EffectKind, Requests, Trouble, UnsentMail
from openslot.doors.web.dashboard.event_types.overview import find_closed
from openslot.doors.web.shared import words
from openslot.doors.web.shared.words import Weekday
from openslot.platform.i18n import PluralText, Text, recall

MAX_HELD_DAYS = 7


class TroubleRow(Struct, frozen=True, kw_only=True):
    """Something that does not work or is unusual."""

    title: Text
    advice: Text
    reason: str | None = None
    path: str | None
    label: Text = Text("Show")
    icon: str = "webhook"
    tone: str = ""
    lines: tuple[Text, ...] = ()
    """The parts of it, one a line."""


def list_troubles(
    attention: Attention, offered: Sequence[EventType], user: User, *, kept: int, now: datetime
) -> list[TroubleRow]:
    """List what needs attention besides failed steps; `kept` mails are in the mailbox because there is no server."""
    return [*_list_kept(kept, user), *_list_troubles(attention, user, now=now), *_list_unpaid(offered)]


def _list_unpaid(offered: Sequence[EventType]) -> Iterator[TroubleRow]:
    for each in offered:
        if (why := find_closed(each)) is not None:
            title = Text("“%(name)s” offers no times", name=each.name)
            yield TroubleRow(title=title, advice=why, path=f"/event-types/{each.id}", icon="card")


def _list_kept(count: int, user: User) -> Iterator[TroubleRow]:
    """Tell about mails in the mailbox: an administrator of the platform can read them and set a server up."""
    if not count:
        return
    title: Text = PluralText(
        "%(count)s email is in the mailbox: no mail server is set up",
        "%(count)s emails are in the mailbox: no mail server is set up",
        count=count,
    )
    if count >= MAX_MAILS_KEPT:
        title = Text("More than %(count)s emails are in the mailbox: no mail server is set up", count=count - 1)
    if user.is_admin:
        yield TroubleRow(
            title=title,
            advice=Text("Nobody has got them. Read them, or set up mail."),
            path="/admin/mailbox",
            label=Text("Read them"),
            icon="mail",
            tone="amber",
        )
    else:
        advice = Text("Nobody has got them. Ask the administrator of this site to set up mail.")
        yield TroubleRow(title=title, advice=advice, path=None, icon="mail", tone="amber")


def _list_troubles(attention: Attention, user: User, *, now: datetime) -> Iterator[TroubleRow]:
    if attention.requests:
        yield _requests(attention.requests, user, now=now)
    yield from (_unsent(each, user, now=now) for each in attention.unsent)
    yield from (_refused(each, user, now=now) for each in attention.refused)
    if attention.held:
        yield _held(attention.held, user, now=now)
    yield from (_trouble(each, user, now=now) for each in attention.troubles)


def _requests(waiting: Requests, user: User, *, now: datetime) -> TroubleRow:
    title = PluralText("%(count)s request waits for you", "%(count)s requests wait for you", count=waiting.count)
    until = words.at(waiting.until, user.zone, now=now)
    return TroubleRow(
        title=title,
        advice=Text("Confirm or decline until %(when)s, or it lapses.", when=until),
        path="/bookings/requests",
        label=Text("Confirm or decline"),
        icon="calendar",
        tone="violet",
    )


def _unsent(unsent: UnsentMail, user: User, *, now: datetime) -> TroubleRow:
    since = words.at(unsent.since, user.zone, now=now)
    return TroubleRow(
        title=Text("Not sent: %(emails)s", emails=POT_NAMES[unsent.pot]),
        advice=Text("Since %(when)s. More emails were triggered on your booking page than are allowed.", when=since),
        path="/bookings",
        icon="mail",
    )


def _unsent_messages(refused: RefusedCost, since: object) -> TroubleRow:
    """Tell about messages to invitees that were not sent, or not agreed to, for all together."""
    told = PluralText(
        "%(count)s message was not sent since %(when)s.",
        "%(count)s messages were not sent since %(when)s.",
        count=refused.refused,
        when=since,
    )
    if refused.cause is CauseKind.COUNTRY:
        title = Text("Somebody wanted messages in a country that your number does not send to")
        why = Text("You choose the countries on the page of the number. If you choose none, it is that of the number.")
    else:
        title = Text("The limit of messages to invitees is reached")
        why = Text("At most %(most)s in 24 hours. Your own replies are counted apart.", most=refused.most)
    return TroubleRow(title=title, advice=told, reason=why, path="/settings/messages", icon="clock", tone="amber")


def _refused(refused: RefusedCost, user: User, *, now: datetime) -> TroubleRow:
    if refused.cause in {CauseKind.COUNTRY, CauseKind.LIMIT}:
        return _unsent_messages(refused, words.at(refused.first_at, user.zone, now=now))
    since, is_own = words.at(refused.first_at, user.zone, now=now), refused.cause is CauseKind.ACCOUNT
    told: Text = PluralText(
        "%(count)s request was refused since %(when)s.",
        "%(count)s requests were refused since %(when)s.",
        count=refused.refused,
        when=since,
    )
    why = Text("Your account can cause %(most)s for now: more as it gets older and others book.", most=refused.most)
    if refused.cause is CauseKind.DAY:
        why = Text("At most %(percent)s%% of each day can be taken without confirmation.", percent=refused.most)
    elif not is_own:
        why = Text("Somebody on your pages asked for more than the %(most)s that are allowed.", most=refused.most)
    title = Text("Used up: %(cost)s", cost=COSTS[refused.cost])
    return TroubleRow(title=title, advice=told, reason=why, path="/bookings", icon="clock", tone="amber")


def _held(starts: Sequence[datetime], user: User, *, now: datetime) -> TroubleRow:
    today = words.day(now, user.zone)
    days = Counter(words.day(each, user.zone) for each in starts)
    lines = [
        PluralText("%(day)s: %(count)s time", "%(day)s: %(count)s times", day=Weekday(day, today), count=count)
        for day, count in list(days.items())[:MAX_HELD_DAYS]
    ]
    if len(days) > MAX_HELD_DAYS:
        others = len(days) - MAX_HELD_DAYS
        lines.append(PluralText("and %(count)s other day", "and %(count)s other days", count=others))
    return TroubleRow(
        title=PluralText("%(count)s time is held right now", "%(count)s times are held right now", count=len(starts)),
        advice=Text("A time is held while someone fills in the booking form, and until a booking is paid."),
        path="/availability/why",
        icon="clock",
        lines=tuple(lines),
    )


def _trouble(trouble: Trouble, user: User, *, now: datetime) -> TroubleRow:
    since = words.at(trouble.since, user.zone, now=now)
    if trouble.kind is EffectKind.CALENDAR:
        return TroubleRow(
            title=Text("The calendar “%(name)s” can't be synced", name=trouble.label),
            advice=Text("Since %(when)s. Check its password, or connect it again.", when=since),
            reason=recall(trouble.reason) if trouble.reason else None,
            path="/settings/calendars",
            icon="calendar",
            tone="rose",
        )
    if trouble.kind is EffectKind.CRM:
        return TroubleRow(
            title=Text("The CRM “%(name)s” can't be updated", name=trouble.label),
            advice=Text("Since %(when)s. Check the connection, or connect it again.", when=since),
            reason=recall(trouble.reason) if trouble.reason else None,
            path="/settings/crm",
            tone="rose",
        )
    if trouble.kind is EffectKind.PAYMENTS:
        return TroubleRow(
            title=Text("Payments can't be read from Stripe"),
            advice=Text("Since %(when)s. Nobody can pay, and refunds wait. Connect a new key.", when=since),
            reason=recall(trouble.reason) if trouble.reason else None,
            path=f"/{trouble.label}/payments",
            icon="card",
            tone="rose",
        )
    if trouble.kind is EffectKind.PAYMENT:
        title, advice = PROBLEMS[Problem(trouble.reason or "")]
        return TroubleRow(title=title, advice=advice, path=f"/payments/{trouble.label}", icon="card", tone="rose")
    return TroubleRow(
        title=Text("The webhook endpoint %(url)s was switched off", url=trouble.label),
        advice=Text("Since %(when)s. Resume it when it works again.", when=since),
        reason=recall(trouble.reason) if trouble.reason else None,
        path="/settings/webhooks",
        tone="rose",
    )
