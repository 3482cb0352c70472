"""All SQL of mail, and of the mails that hosts want."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from openslot.domains.accounts.profiles.store import BRANDED_HOST
from openslot.domains.bookings.models import Booking
from openslot.domains.mail.models import (
    MAILBOX,
    CountedMail,
    Draft,
    KeptMail,
    MailKind,
    MailPot,
    MailStatus,
    RecipientRole,
    ToldInvitee,
)
from openslot.domains.mail.rules import list_counted
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

MAILS = Rows(KeptMail, "mail_messages")
# The first of the two numbers of an advisory lock.
RECIPIENTS, HOSTS = 21, 22

HOST = f"""
select h.*, (select json_object_agg(c.topic, c.is_on) from notification_choices c where c.user_id = h.id) as choices
from ({BRANDED_HOST}) h"""

# Both locks are held until the commit; the counts are their own statement, so that they see what others did before.
LOCK_COUNTED = """
select pg_advisory_xact_lock($1::int, hashtext(canonical_recipient($2))),
       pg_advisory_xact_lock($3::int, hashtext($4::text))"""


def _count_public(booking_id: str) -> str:
    """Write what is counted of other mail: to this person, and of the same pot by event type, that of a booking alone.

    Mail to guests is counted together, whatever it is about.
    """
    return f"""
select (select count(*) from mail_messages
        where canonical_recipient(recipient) = canonical_recipient($1) and is_public and status <> 'failed'
          and created_at > $3 and id <> $4)::int as to_recipient, pot.*
from (select coalesce(array_agg(n), '{{}}') as by_event_type,
             max(n) filter (where event_type_id = (select event_type_id from bookings where id = {booking_id}))
                 as of_own
      from (select b.event_type_id, count(*)::int as n
            from mail_messages m left join bookings b on b.id = m.booking_id
            where m.host_id = $2 and m.is_public and m.status <> 'failed' and m.created_at > $3 and m.id <> $4
              and case when $5 = 'guest' then m.role = 'guest' else m.role <> 'guest' and m.kind = any($6) end
            group by 1) counted) pot"""


COUNT_PUBLIC = _count_public("$7")
# What has become of the email about the last change of a booking; if nobody knows yet, what its limits count.
TOLD = f"""
select (select status from mail_messages
        where booking_id = $4 and kind = $7 and role = 'invitee' and created_at >= $8
        order by created_at desc limit 1) as status,
       $7 = '{MailKind.CONFIRMATION}' and exists (
        select from events where subject_id = $4 and type = 'booking.created'
            and fact -> 'is_reserved' = 'true') as is_reserved,
       counted.* from ({_count_public("$4")}) counted"""
# The host's lock is held: what was told before is known.
REACHED = """
with before as (
    select told_at from mail_limits_reached where host_id = $1 and pot = $2 and told_at > $4
), reached as (
    insert into mail_limits_reached (host_id, pot, reached_at, told_at) values ($1, $2, $3, $3)
    on conflict (host_id, pot) do update
    set reached_at = $3, told_at = coalesce((select told_at from before), $3)
)
select not exists (select from before)"""

# A mail is logged before it is sent, so that mail under way counts too. A later try finds the same entry.
LOG = """
insert into mail_messages as m (id, kind, role, host_id, booking_id, recipient, is_public, subject, status, transport,
    error, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (id) do update set status = excluded.status, error = excluded.error, transport = excluded.transport
where m.status <> 'sent'
returning created_at"""

LISTED = f"""
select {MAILS.columns} from mail_messages
where ($1::text is null or lower(recipient) = lower($1)) and ($2::uuid is null or booking_id = $2)
order by created_at desc, id desc limit $3 offset $4"""

# A try whose worker died has left no result, so the effect's state tells how it ended.
ABANDONED = """
update mail_messages m set status = 'failed', error = coalesce(e.last_error, 'it could not be sent')
from effects e where m.id = any(array(
    select id from mail_messages where status = 'sending' order by created_at limit $1))
  and m.status = 'sending' and e.id = m.id and e.state = 'dead'"""


async def find_host(db: Db, host_id: UUID) -> Row | None:
    return await db.fetchrow(HOST, host_id)


async def count_public(db: Db, draft: Draft, *, since: datetime) -> CountedMail:
    """Count the other mail that the public has caused: to this person, and of the same pot for this host."""
    to = draft.recipient
    await db.execute(LOCK_COUNTED, RECIPIENTS, to.email, HOSTS, str(draft.host_id))
    about = (to.email, draft.host_id, since, draft.id, to.role, list_counted(draft.kind), draft.booking_id)
    row = await db.fetchrow(COUNT_PUBLIC, *about)
    assert row is not None  # noqa: S101 - a select of aggregates
    return _read_counted(row, draft.booking_id)


async def find_told(db: Db, booking: Booking, kind: MailKind, *, since: datetime) -> ToldInvitee:
    """Read what has become of the email to an invitee about the last change of a booking, or what may limit it."""
    about = (booking.invitee_email, booking.host_id, since, booking.id, RecipientRole.INVITEE, list_counted(kind))
    row = await db.fetchrow(TOLD, *about, kind, booking.updated_at)
    assert row is not None  # noqa: S101 - a select of aggregates
    status = MailStatus(row["status"]) if row["status"] else None
    return ToldInvitee(status=status, is_reserved=row["is_reserved"], counted=_read_counted(row, booking.id))


def _read_counted(row: Row, booking_id: UUID | None) -> CountedMail:
    return CountedMail(
        to_recipient=row["to_recipient"],
        by_event_type=tuple(row["by_event_type"]),
        of_own=None if booking_id is None else row["of_own"] or 0,
    )


async def reach_limit(db: Db, host_id: UUID, pot: MailPot, *, now: datetime, told_since: datetime) -> bool:
    """Note that a pot of a host is used up; return whether the host has not been told since then."""
    return bool(await db.fetchval(REACHED, host_id, pot, now, told_since))


async def log_mail(
    db: Db, draft: Draft, *, subject: str, status: MailStatus, transport: str, error: str | None, now: datetime
) -> datetime | None:
    """Log that a mail is being sent, or why it is not; return when it was first logged, None if it was sent before."""
    to = draft.recipient
    about = (draft.id, draft.kind, to.role, draft.host_id, draft.booking_id, to.email, draft.is_public)
    logged_at: datetime | None = await db.fetchval(LOG, *about, subject, status, transport, error, now)
    return logged_at


async def name_mailbox(db: Db, email: str) -> str:
    """Write an address as all addresses of its mailbox are written."""
    return str(await db.fetchval("select canonical_recipient($1)", email))


async def is_begun(db: Db, mail_id: UUID) -> bool:
    """Answer whether a mail was logged as being sent before."""
    statement = "select exists (select from mail_messages where id = $1 and status <> 'failed')"
    return bool(await db.fetchval(statement, mail_id))


def finish_mail(mail_id: UUID, *, now: datetime) -> Change:
    statement = (
        "update mail_messages set status = 'sent', sent_at = $2, error = null where id = $1 and status <> 'sent'"
    )
    return Change(statement, (mail_id, now))


async def fail_mail(db: Db, mail_id: UUID, error: str) -> None:
    await db.execute(
        "update mail_messages set status = 'failed', error = $2 where id = $1 and status = 'sending'", mail_id, error
    )


async def keep_content(db: Db, mail_id: UUID, sealed: bytes) -> None:
    await db.execute("update mail_messages set content = $2 where id = $1", mail_id, sealed)


async def count_kept(db: Db, host_id: UUID | None, *, max_: int) -> int:
    """Count mails that were kept instead of sent, of one host or of all, up to a number."""
    statement = f"""select count(*) from (
        select from mail_messages where status = 'sent' and transport = '{MAILBOX}' {"and host_id = $2" * bool(host_id)}
        limit $1) m"""
    return int(await db.fetchval(statement, max_, *filter(None, (host_id,))))


@custom_plans
async def list_mail(
    db: Db, *, recipient: str | None, booking_id: UUID | None, limit: int, offset: int
) -> list[KeptMail]:
    return [MAILS.read(row) for row in await db.fetch(LISTED, recipient, booking_id, limit, offset)]


async def find_mail(db: Db, mail_id: UUID) -> tuple[KeptMail, bytes | None] | None:
    row = await db.fetchrow(f"select {MAILS.columns}, content from mail_messages where id = $1", mail_id)
    return (MAILS.read(row), row["content"]) if row else None


async def fail_abandoned(db: Db, *, limit: int) -> int:
    """Mark mails as failed whose effects are dead."""
    return count_of(await db.execute(ABANDONED, limit))


REPLACE = """
with gone as (delete from notification_choices where user_id = $1 and topic <> all($2))
insert into notification_choices (user_id, topic, is_on, updated_at)
select $1, topic, is_on, $4 from unnest($2::text[], $3::boolean[]) as chosen (topic, is_on)
on conflict (user_id, topic) do update set is_on = excluded.is_on, updated_at = excluded.updated_at"""


async def find_choices(db: Db, user_id: UUID) -> dict[str, bool]:
    rows = await db.fetch("select topic, is_on from notification_choices where user_id = $1", user_id)
    return {row["topic"]: row["is_on"] for row in rows}


async def replace_choices(db: Db, user_id: UUID, choices: Mapping[str, bool], *, now: datetime) -> None:
    """Write what a user has chosen; what is not named is as if never chosen."""
    await db.execute(REPLACE, user_id, [str(topic) for topic in choices], list(choices.values()), now)


async def is_invited_by_calendar(db: Db, booking_id: UUID, updated_at: datetime) -> bool:
    """Return whether the host's calendar invites to a booking as it was then."""
    statement = """select exists (select from calendar_invitations
        where booking_id = $1 and (left_at is null or left_at >= $2))"""
    return bool(await db.fetchval(statement, booking_id, updated_at))
