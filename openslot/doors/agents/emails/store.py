"""All SQL of agents' emails and of those who do not want marketing mail."""

from datetime import datetime
from uuid import UUID

from openslot.doors.agents.models import AgentEmail
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.ids import new_id
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

# The first of the two numbers of an advisory lock.
SENDERS = 24

EMAILS = Rows(AgentEmail, "agent_emails")
# One that has stayed in the embedded mailbox was not sent.
LISTED = Rows(
    AgentEmail,
    "agent_emails",
    computed={
        "status": """case when status = 'sent' and exists (select from mail_messages x
            where x.id = effect_id and x.transport = 'mailbox') then 'mailbox' else status end"""
    },
)

# The address gets its row with its first marketing mail. The row is locked either way, so that nobody unsubscribes
# between the look at it and the commit.
MARKETING_RECIPIENT = """
insert into marketing_recipients as r (id, email, created_at) values ($1, $2, $3)
on conflict (lower(email)) do update set email = r.email
returning id, opted_out_at"""

ABANDONED = """
update agent_emails m set status = 'failed', error = coalesce(e.last_error, 'it could not be sent')
from effects e where m.id = any(array(
    select id from agent_emails where status = 'queued' order by at limit $1))
  and m.status = 'queued' and e.id = m.effect_id and e.state = 'dead'"""


async def lock_sender(db: Db, agent: str) -> None:
    """Let nobody else send for this agent before the commit."""
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext($2))", SENDERS, agent)


async def list_sent(db: Db, agent: str, *, since: datetime) -> list[datetime]:
    rows = await db.fetch("select at from agent_emails where agent = $1 and at >= $2 order by at", agent, since)
    return [row["at"] for row in rows]


async def is_administrator(db: Db, email: str) -> bool:
    statement = "select exists (select from users where lower(email) = lower($1) and is_admin and disabled_at is null)"
    return bool(await db.fetchval(statement, email))


async def is_opted_out(db: Db, email: str) -> bool:
    statement = """select exists (
                select from marketing_recipients where lower(email) = lower($1) and opted_out_at is not null)"""
    return bool(await db.fetchval(statement, email))


async def add_marketing_recipient(db: Db, email: str, *, now: datetime) -> tuple[UUID, datetime | None]:
    """Find or add an address that marketing mail goes to, and return since when it is unsubscribed."""
    row = await db.fetchrow(MARKETING_RECIPIENT, new_id(), email, now)
    if row is None:
        raise LookupError("a recipient is either found or added")
    return row["id"], row["opted_out_at"]


async def find_marketing_recipient(db: Db, recipient_id: UUID) -> Row | None:
    return await db.fetchrow("select email, opted_out_at from marketing_recipients where id = $1", recipient_id)


async def opt_out(db: Db, recipient_id: UUID, *, now: datetime) -> bool:
    """Write that an address wants no marketing mail; return False if it was written before."""
    statement = "update marketing_recipients set opted_out_at = $2 where id = $1 and opted_out_at is null"
    return count_of(await db.execute(statement, recipient_id, now)) == 1


async def insert(db: Db, email: AgentEmail, content: bytes) -> None:
    await db.execute(EMAILS.insert("content"), *EMAILS.values(email), content)


async def find_effect(db: Db, email_id: UUID, *, reaction: str) -> UUID:
    statement = """select e.id from events v join effects e on e.event_id = v.id
        where v.subject_id = $1 and e.reaction = $2"""
    effect_id: UUID = await db.fetchval(statement, email_id, reaction)
    return effect_id


async def keep_effect(db: Db, email_id: UUID, effect_id: UUID, message_id: str) -> None:
    statement = "update agent_emails set effect_id = $2, message_id = $3 where id = $1"
    await db.execute(statement, email_id, effect_id, message_id)


async def find_email(db: Db, email_id: UUID) -> tuple[AgentEmail, bytes | None, str | None] | None:
    """Look an email up, with its sealed content and the language of its recipient, if that is a user."""
    statement = f"""select {EMAILS.columns}, content,
            (select locale from users u where lower(u.email) = lower(recipient)) as locale
        from agent_emails where id = $1"""
    row = await db.fetchrow(statement, email_id)
    return (EMAILS.read(row), row["content"], row["locale"]) if row else None


def finish_email(email_id: UUID) -> Change:
    return Change("update agent_emails set status = 'sent', error = null, content = null where id = $1", (email_id,))


async def fail_email(db: Db, email_id: UUID, error: str) -> None:
    """Write that an email was not sent; its content is kept, so that an operator can retry it."""
    statement = "update agent_emails set status = 'failed', error = $2 where id = $1 and status <> 'sent'"
    await db.execute(statement, email_id, error)


async def fail_abandoned_emails(db: Db, *, limit: int) -> int:
    """Mark emails as failed whose effects are dead."""
    return count_of(await db.execute(ABANDONED, limit))


@custom_plans
async def list_emails(db: Db, *, agent: str | None, limit: int) -> list[AgentEmail]:
    statement = f"""select {LISTED.columns} from agent_emails where ($1::text is null or agent = $1)
        order by at desc, id desc limit $2"""
    return [LISTED.read(row) for row in await db.fetch(statement, agent, limit)]


async def delete_old_emails(db: Db, *, before: datetime, limit: int) -> int:
    statement = """delete from agent_emails where id = any(array(
            select id from agent_emails where at < $1 order by at limit $2))"""
    return count_of(await db.execute(statement, before, limit))
