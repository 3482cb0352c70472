"""The SQL of timelines: effects of bookings, those that failed, and connections that no longer work."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.allowances.models import CauseKind, Cost, RefusedCost
from openslot.domains.bookings.conferences import MAKE_LINK
from openslot.domains.bookings.pending import HAND_OUT
from openslot.domains.bookings.requests.store import WAITS_FOR
from openslot.domains.calendars.event_store import WRITE
from openslot.domains.conversations.models import MessageStatus
from openslot.domains.crm.store import WRITE_CRM
from openslot.domains.mail.kinds.reminders import FOLLOW_UP, REMIND
from openslot.domains.mail.models import MAILBOX, MailPot
from openslot.domains.mail.reactions import SEND
from openslot.domains.messaging.reminders.reactions import FOLLOW_UP_BY_MESSAGE, REMIND_BY_MESSAGE
from openslot.domains.timeline.models import (
    Attention,
    EffectKind,
    FailedEffect,
    Requests,
    TimelineEffect,
    Trouble,
    UnsentMail,
)
from openslot.domains.webhooks.store import DELIVER
from openslot.platform.core.db import Db, Row
from openslot.platform.core.events import EffectState

KINDS = {
    SEND: EffectKind.MAIL,
    REMIND: EffectKind.REMINDER,
    FOLLOW_UP: EffectKind.MAIL_FOLLOW_UP,
    REMIND_BY_MESSAGE: EffectKind.MESSAGE,
    FOLLOW_UP_BY_MESSAGE: EffectKind.FOLLOW_UP,
    DELIVER: EffectKind.WEBHOOK,
    WRITE: EffectKind.CALENDAR,
    MAKE_LINK: EffectKind.CONFERENCE,
    WRITE_CRM: EffectKind.CRM,
    "payments.refund": EffectKind.REFUND,
    HAND_OUT: EffectKind.WAIT_LIST,
    "agents.tell_chat": EffectKind.TEAM_CHAT,
    "payments.leave": EffectKind.ENDING,
    "plans.cancel_orphans": EffectKind.ENDING,
}
# Reactions that only plan others, by the beginning of their names.
PLANNERS = {
    "assistants": EffectKind.MAIL,
    "payments": EffectKind.REFUND,
    "mail": EffectKind.MAIL,
    "webhooks": EffectKind.WEBHOOK,
    "calendars": EffectKind.CALENDAR,
    "crm": EffectKind.CRM,
    "messaging": EffectKind.MESSAGE,
}
MAILS = {EffectKind.MAIL, EffectKind.REMINDER, EffectKind.MAIL_FOLLOW_UP}
MESSAGES = {EffectKind.MESSAGE, EffectKind.FOLLOW_UP}
# How the effect of a message stands by what became of the message itself; it is done where this does not say.
STATES = {
    **dict.fromkeys((MessageStatus.QUEUED, MessageStatus.SENDING), EffectState.RUNNING),
    **dict.fromkeys(
        (MessageStatus.UNKNOWN, MessageStatus.UNDELIVERED, MessageStatus.FAILED, MessageStatus.CANCELED),
        EffectState.SKIPPED,
    ),
}
# How many times of a host are held at the same moment only if many people book, or someone misuses holds.
MANY_HOLDS = 4

# The name of what an effect is sent to; only the host's own endpoints, calendars and CRMs are looked at.
TARGET_NAME = """
coalesce(
    (select w.url from webhook_endpoints w where w.owner_id = {host} and w.id::text = f.target),
    (select k.name from calendars k where k.owner_id = {host} and k.id::text = split_part(f.target, '/', 1)),
    (select c.label from crm_connections c where c.owner_id = {host} and c.id::text = split_part(f.target, '/', 1)))"""
COLUMNS = """
f.id, f.no, f.event_id, v.type as event_type, f.reaction, coalesce(f.target, f.payload ->> 'recipient') as target,
f.state, f.attempts, f.next_try_at, f.finished_at, f.last_error"""
# Reminders belong to no event: their keys begin with the booking's id. In every collation, what follows it comes before
# a letter.
OF_MESSAGES = f"f.reaction in ('{REMIND_BY_MESSAGE}', '{FOLLOW_UP_BY_MESSAGE}')"
PLANNED = f"f.reaction in ('{REMIND}', '{FOLLOW_UP}', '{REMIND_BY_MESSAGE}', '{FOLLOW_UP_BY_MESSAGE}')"
OF_KEY = """
f.key >= {id}::text and f.key < {id}::text || 'z' and starts_with(f.key, {id}::text || ':')"""
REMINDERS = f"{PLANNED} and f.state in ('queued', 'running', 'dead') and {OF_KEY}"
# By its id alone, so that the planner never looks through all bookings of a host.
IS_OWN = "(select b.host_id from bookings b where b.id = {id}) = $2"
# A booking may have had another owner: what goes to that one's endpoints, CRM and payment account is theirs alone.
IS_SHOWN = """
(coalesce(v.tenant_id, f.tenant_id) = $2 or split_part(f.reaction, '.', 1) not in ('webhooks', 'crm', 'payments'))"""
OF_BOOKING = f"""
select f.*, s.status as message_status, s.error as message_error, {TARGET_NAME.format(host="$2")} as target_name,
exists (
    select from mail_messages m where m.id = f.id and m.status = 'sent' and m.transport = '{MAILBOX}') as in_mailbox
from (
    select {COLUMNS} from events v join effects f on f.event_id = v.id
    where v.subject_id = $1 and {IS_SHOWN}
    union all
    select {COLUMNS} from effects f left join events v on false
    where {REMINDERS.format(id="$1")}
    union all
    select {COLUMNS} from mail_messages m join effects f on f.id = m.id left join events v on false
    where m.booking_id = $1 and f.event_id is null and f.state in ('done', 'skipped')
    union all
    select {COLUMNS} from effects f left join events v on false
    where {OF_MESSAGES} and f.state in ('done', 'skipped') and {OF_KEY.format(id="$1")}
) f left join messages s on s.id = f.id
where {IS_OWN.format(id="$1")} order by f.no limit 500"""
COUNT_FAILED = f"""
select w.id, (
    select count(*) from events v join effects f on f.event_id = v.id
    where v.subject_id = w.id and f.state = 'dead' and {IS_SHOWN}
) + (
    select count(*) from effects f where {REMINDERS.format(id="w.id")} and f.state = 'dead'
) as failed
from unnest($1::uuid[]) as w (id) where {IS_OWN.format(id="w.id")}"""
# The columns of what needs attention: those of a failed effect, and those of everything else.
EFFECT_COLUMNS = {
    "id": "uuid",
    "event_id": "uuid",
    "event_type": "text",
    "reaction": "text",
    "target": "text",
    "state": "text",
    "attempts": "int",
    "next_try_at": "timestamptz",
    "finished_at": "timestamptz",
    "last_error": "text",
    "booking_id": "uuid",
}
ATTENTION_COLUMNS = EFFECT_COLUMNS | {
    "target_name": "text",
    "invitee_name": "text",
    "event_type_name": "text",
    "label": "text",
    "reason": "text",
    "since": "timestamptz",
    "until": "timestamptz",
    "starts_at": "timestamptz",
    "counted": "bigint",
    "most": "bigint",
}


def _find(kind: str, tables: str, **columns: str) -> str:
    """Write one branch of what needs attention; columns that it does not name are null."""
    values = ", ".join(f"{columns.get(name, 'null')}::{type_} as {name}" for name, type_ in ATTENTION_COLUMNS.items())
    return f"select '{kind}' as found, {values} from {tables}"


# Two small indexes have only what failed: the planner begins with the fewer, the host's events or all failures.
FAILED = f"""
select {COLUMNS}, case v.subject_kind when 'booking' then v.subject_id end as booking_id
from events v join effects f on f.event_id = v.id
where v.tenant_id = $1 and f.state = 'dead' and f.finished_at > $2
union all
select {COLUMNS}, (f.payload ->> 'booking_id')::uuid
from effects f left join events v on false
where f.tenant_id = $1 and f.event_id is null and f.state = 'dead' and {PLANNED}
  and f.finished_at > $2
order by finished_at desc, no desc limit $3"""
HELD = """
select c.starts_at
from users u join claims c on c.host_no = u.no and c.starts_at > $4 and c.active
where u.id = $1 and (c.kind = 'hold' and c.expires_at > $4 or c.kind = 'payment')
union all
select c.starts_at
from users u join claims c on c.host_no = u.no and c.starts_at > $4 and c.active
join claim_seats t on t.claim_id = c.id and t.active and t.holder <> 'wait list' and t.expires_at > $4
where u.id = $1 and c.kind = 'session'
limit 1000"""
ATTENTION = f"with failed as ({FAILED})" + "\nunion all ".join(
    (
        _find(
            "effect",
            """failed f left join bookings b on b.id = f.booking_id and b.host_id = $1
            left join event_types e on e.id = b.event_type_id""",
            **{name: f"f.{name}" for name in EFFECT_COLUMNS},
            target_name=TARGET_NAME.format(host="$1"),
            invitee_name="b.invitee_name",
            event_type_name="e.name",
        ),
        _find(
            "calendar",
            "calendar_connections c where c.owner_id = $1 and c.told_at is not null",
            label="c.label",
            reason="c.last_error",
            since="c.failing_since",
        ),
        _find(
            "crm",
            "crm_connections c where c.owner_id = $1 and c.told_at is not null",
            label="c.label",
            reason="c.last_error",
            since="c.failing_since",
        ),
        _find(
            "webhook",
            "webhook_endpoints w where w.owner_id = $1 and w.state = 'disabled'",
            label="w.url",
            reason="w.state_reason",
            since="w.state_since",
        ),
        _find(
            "payments",
            """payment_connections p
            where p.told_at is not null and p.disconnected_at is null and (p.user_id = $1 or p.organization_id in (
                select m.organization_id from memberships m
                where m.user_id = $1 and m.active and m.role in ('owner', 'admin')))""",
            label="case when p.user_id is null then 'organization' else 'settings' end",
            reason="p.last_error",
            since="p.failing_since",
        ),
        _find(
            "payment",
            "payments p cross join unnest(p.problems) as problem where p.host_id = $1 and p.problems <> '{}'",
            label="p.id",
            reason="problem",
            since="p.updated_at",
        ),
        _find(
            "unsent",
            "mail_limits_reached l where l.host_id = $1 and l.reached_at > $4::timestamptz - interval '24 hours'",
            label="l.pot",
            since="l.told_at",
        ),
        _find(
            "refused",
            "allowance_refusals a where a.user_id = $1 and a.last_at > $4::timestamptz - interval '24 hours'",
            label="a.cost",
            reason="a.cause",
            since="a.first_at",
            until="a.last_at",
            counted="a.refused",
            most="a.most",
        ),
        _find(
            "request",
            f"booking_requests r where {WAITS_FOR} having count(*) > 0",
            until="min(r.lapses_at)",
            counted="count(*)",
        ),
        _find("held", f"({HELD}) h", starts_at="h.starts_at"),
    )
)
IS_FAILED = f"""
select exists (
    select from effects f left join events v on v.id = f.event_id
    where f.id = $1 and f.state = 'dead' and case
        when $3::uuid is null then coalesce(v.tenant_id, f.tenant_id) = $2
        else (v.subject_id = $3 or f.payload ->> 'booking_id' = $3::text) and {IS_SHOWN}
            and {IS_OWN.format(id="$3")} end)"""


async def list_of_booking(db: Db, booking_id: UUID, host_id: UUID) -> list[TimelineEffect]:
    return [_to_effect(row) for row in await db.fetch(OF_BOOKING, booking_id, host_id)]


async def count_failed(db: Db, booking_ids: Sequence[UUID], host_id: UUID) -> dict[UUID, int]:
    return {row["id"]: row["failed"] for row in await db.fetch(COUNT_FAILED, booking_ids, host_id) if row["failed"]}


async def list_attention(db: Db, host_id: UUID, *, since: datetime, now: datetime, limit: int) -> Attention:
    found: dict[str, list[Row]] = {}
    for row in await db.fetch(ATTENTION, host_id, since, limit, now):
        found.setdefault(row["found"], []).append(row)
    held = tuple(sorted(row["starts_at"] for row in found.get("held", ())))
    return Attention(
        failed=tuple(_to_failed(row) for row in found.get("effect", ())),
        troubles=tuple(
            Trouble(kind=kind, label=row["label"], since=row["since"], reason=row["reason"])
            for kind in (
                EffectKind.CALENDAR,
                EffectKind.CRM,
                EffectKind.WEBHOOK,
                EffectKind.PAYMENTS,
                EffectKind.PAYMENT,
            )
            for row in found.get(kind, ())
        ),
        unsent=tuple(UnsentMail(pot=MailPot(row["label"]), since=row["since"]) for row in found.get("unsent", ())),
        refused=tuple(map(_to_refused, found.get("refused", ()))),
        held=held if len(held) >= MANY_HOLDS else (),
        requests=next((Requests(row["counted"], row["until"]) for row in found.get("request", ())), None),
    )


def _to_refused(row: Row) -> RefusedCost:
    return RefusedCost(
        cost=Cost(row["label"]),
        cause=CauseKind(row["reason"]),
        refused=row["counted"],
        most=row["most"],
        first_at=row["since"],
        last_at=row["until"],
    )


async def is_failed(db: Db, effect_id: UUID, host_id: UUID, booking_id: UUID | None) -> bool:
    """Return whether an effect has failed for good and belongs to this host, or to this booking of theirs."""
    return bool(await db.fetchval(IS_FAILED, effect_id, host_id, booking_id))


def find_kind(reaction: str) -> tuple[EffectKind, bool]:
    """Name what a reaction does as hosts know it, and tell whether it only plans others."""
    if reaction in KINDS:
        return KINDS[reaction], False
    domain = reaction.partition(".")[0]
    return PLANNERS.get(domain, EffectKind.OTHER), domain in PLANNERS


def _to_effect(row: Row) -> TimelineEffect:
    kind, plans_others = find_kind(row["reaction"])
    role, _, email = (row["target"] or "").partition(":")
    is_message = kind in MESSAGES
    state, status = EffectState(row["state"]), row.get("message_status")
    return TimelineEffect(
        id=row["id"],
        event_id=row["event_id"],
        event_type=row["event_type"],
        kind=kind,
        plans_others=plans_others,
        recipient=email or None if kind in MAILS or is_message else None,
        is_to_host=kind in MAILS and role == "host",
        target_name=role if is_message else row["target_name"],
        state=STATES.get(MessageStatus(status), state) if status else state,
        attempts=row["attempts"],
        next_try_at=row["next_try_at"],
        finished_at=row["finished_at"],
        error=row.get("message_error") or row["last_error"] or (status if status == MessageStatus.UNKNOWN else None),
        in_mailbox=row.get("in_mailbox", False),
    )


def _to_failed(row: Row) -> FailedEffect:
    return FailedEffect(
        effect=_to_effect(row),
        booking_id=row["booking_id"] if row["invitee_name"] is not None else None,
        invitee_name=row["invitee_name"],
        event_type_name=row["event_type_name"],
    )
