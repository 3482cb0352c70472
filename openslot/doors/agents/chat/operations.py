"""The team chat: what it is told, in words, and the feed that the administration shows, with or without a chat."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.operations import list_users_by_id
from openslot.domains.calendars.events import CalendarBroken, CalendarRecovered
from openslot.domains.crm.events import CrmBroken
from openslot.domains.messaging.connections.events import MessagingBroken
from openslot.domains.payments.connections.events import PaymentsUnreadable
from openslot.doors.agents.chat import store
from openslot.doors.agents.events import ApprovalDecided, ApprovalRequested, BudgetWarned
from openslot.doors.agents.roster import ROSTER
from openslot.platform.core.actor import Actor
from openslot.platform.core.dollars import to_usd
from openslot.platform.core.events import Effect, EffectState, Event
from openslot.platform.core.work import Outcome, Reaction, Skipped, Work
from openslot.platform.flags.events import MessagingEvent, MessagingResumed, MessagingStopped
from openslot.platform.i18n import CodedReason, say
from openslot.vendors.chat import post, team_chat

MAX_LISTED = 100
HAS_READ = (
    "It has read texts of hosts, invitees or others since a person last approved a call of it, and such texts may "
    "contain instructions."
)
ENDINGS = {
    "approved": "was approved by {approver} and carried out",
    "rejected": "was rejected by {approver}",
    "expired": "has expired: nobody decided within 15 minutes",
}
NAMES = {"sms": "SMS", "whatsapp": "WhatsApp", "voice": "voice calls", "email": "email"}


class ChatMessage(Struct, frozen=True, kw_only=True):
    """A message to the team chat, in English, and whether it was posted."""

    at: datetime
    text: str
    state: EffectState
    error: str | None


TOLD_ONCE = CodedReason(
    "agents.told_once",
    "it is no longer needed",
    said="the team chat is told once, whoever else is told",
)


async def tell_chat(work: Work, effect: Effect) -> Outcome:
    """Post what happened to the team chat, and keep it for the feed of the administration."""
    kind, write = WRITERS[effect.event_type]
    event = effect.event(kind)
    if not await store.is_first(work.db, effect.event_id):
        return Skipped(TOLD_ONCE)
    text = write(event, await _name_person(work, _find_person(event, effect.actor)))
    await store.keep(work.db, effect.id, text, at=effect.event_at)
    return await post(work, text)


async def list_chat_feed(work: Work) -> list[ChatMessage]:
    """List what the team chat was told, newest first, even if there is none."""
    return [
        ChatMessage(**{**row, "error": say(row["error"] or "") or None})
        for row in await store.list_feed(work.db, limit=MAX_LISTED)
    ]


def name_of(slug: str | None) -> str:
    """Write an agent's name, or that of a person who is none."""
    entry = ROSTER.get(slug or "")
    return entry.name if entry else slug or "nobody"


def _find_person(event: Event, actor: Actor) -> UUID | str:
    """Find whom a message names: whose connection it is, or who did it."""
    if isinstance(event, CalendarBroken | CalendarRecovered | CrmBroken):
        return event.owner_id
    if isinstance(event, PaymentsUnreadable | MessagingBroken) and event.organization_id is None:
        return event.user_id or ""
    if actor.agent is not None:
        return name_of(actor.agent)
    return actor.user_id or "the command line"


async def _name_person(work: Work, person: UUID | str) -> str:
    if isinstance(person, str):
        return person
    found = await list_users_by_id(work, [person])
    return found[person].email if person in found else "a deleted account"


def _write_request(event: ApprovalRequested, _: str) -> str:
    read = f"{HAS_READ} " if event.has_read_texts else ""
    return (
        f"{name_of(event.requester)} asks for approval to call {event.tool}. {read}It expires at "
        f"{event.expires_at:%H:%M} UTC. Decide with the Orchestrator, or on the terminal: "
        f"openslot agent approvals approve {event.approval_id}"
    )


def _write_decision(event: ApprovalDecided, _: str) -> str:
    ending = ENDINGS[event.outcome].format(approver=name_of(event.approver))
    return f"The call of {event.tool} by {name_of(event.requester)} {ending}. Approval {event.approval_id}"


def _write_warning(event: BudgetWarned, _: str) -> str:
    who = name_of(event.agent) if event.agent else "all agents together"
    percent = 100 * event.spent_micros // event.limit_micros if event.limit_micros else 100
    return (
        f"Budget warning for {event.on}: {who} spent {to_usd(event.spent_micros):.2f} of "
        f"{to_usd(event.limit_micros):.2f} USD ({percent} %)"
    )


def _write_stop(event: MessagingStopped, who: str) -> str:
    return f"Outgoing messages are stopped: {_name_channels(event)}. By {who}. Reason: {event.reason}"


def _write_resumption(event: MessagingResumed, who: str) -> str:
    waiting = f"{event.waiting} waiting message{'' if event.waiting == 1 else 's'}"
    channels = _name_channels(event)
    return f"Outgoing messages are resumed: {channels}, with {waiting}. By {who}. Reason: {event.reason}"


def _name_channels(event: MessagingEvent) -> str:
    return ", ".join(NAMES[channel] for channel in event.channels)


def _write_broken_calendar(event: CalendarBroken, who: str) -> str:
    since, reason = f"{event.since:%Y-%m-%d %H:%M} UTC", say(event.reason)
    return f"The calendar “{event.label}” of {who} can't be synced since {since}: {reason}"


def _write_recovered_calendar(event: CalendarRecovered, who: str) -> str:
    return f"The calendar “{event.label}” of {who} can be synced again"


def _write_broken_payments(event: PaymentsUnreadable, who: str) -> str:
    account = f" “{event.account_name}”" if event.account_name else ""
    owner = "an organization" if event.organization_id else who
    since, reason = f"{event.since:%Y-%m-%d %H:%M} UTC", say(event.reason)
    return f"The payment account{account} of {owner} can't be read since {since}: {reason}"


def _write_broken_number(event: MessagingBroken, who: str) -> str:
    owner = "an organization" if event.organization_id else who
    since = f"{event.since:%Y-%m-%d %H:%M} UTC"
    return f"The number {event.number} ({event.channel}) of {owner} can't be used since {since}: {say(event.reason)}"


def _write_broken_crm(event: CrmBroken, who: str) -> str:
    since, reason = f"{event.since:%Y-%m-%d %H:%M} UTC", say(event.reason)
    return f"The CRM “{event.label}” of {who} can't be updated since {since}: {reason}"


# A connection that breaks is told here too: an event of its own, and a line.
WRITERS: dict[str, tuple[type[Event], Callable[[Any, str], str]]] = {
    kind.type: (kind, write)
    for kind, write in (
        (ApprovalRequested, _write_request),
        (ApprovalDecided, _write_decision),
        (BudgetWarned, _write_warning),
        (MessagingStopped, _write_stop),
        (MessagingResumed, _write_resumption),
        (CalendarBroken, _write_broken_calendar),
        (CalendarRecovered, _write_recovered_calendar),
        (PaymentsUnreadable, _write_broken_payments),
        (MessagingBroken, _write_broken_number),
        (CrmBroken, _write_broken_crm),
    )
}
TELL_CHAT = Reaction(
    name="agents.tell_chat", on=tuple(kind for kind, _ in WRITERS.values()), run=tell_chat, destination=team_chat
)
