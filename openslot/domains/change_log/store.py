"""All SQL of the change log."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.change_log.models import ChangeFilter, ChangeScope, Fields, LoggedChange, NewChange
from openslot.platform.core.actor import Actor
from openslot.platform.core.db import Db
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

CHANGES = Rows(LoggedChange, "change_log")
# One list for each scope, so that each finds its lines by an index of its own.
SCOPES = {
    ChangeScope.ORGANIZATION: "scope = 'organization' and organization_id = $1",
    ChangeScope.PLATFORM: "scope = 'platform' and $1::uuid is null",
}


async def insert_change(
    db: Db, change: NewChange, *, actor: Actor, before: Fields, after: Fields, now: datetime
) -> None:
    statement = """
        insert into change_log (at, scope, organization_id, action, actor_kind, actor_id, actor_name, actor_email,
            address, subject, subject_id, before, after)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"""
    await db.execute(
        statement,
        now,
        ChangeScope.PLATFORM if change.organization_id is None else ChangeScope.ORGANIZATION,
        change.organization_id,
        change.action,
        actor.kind,
        actor.user_id,
        change.author.name,
        change.author.email,
        change.author.address,
        change.subject,
        change.subject_id,
        msgspec.json.encode(before).decode(),
        msgspec.json.encode(after).decode(),
    )


@custom_plans
async def list_changes(
    db: Db, organization_id: UUID | None, wanted: ChangeFilter, *, before_id: int | None, limit: int
) -> list[LoggedChange]:
    scope = ChangeScope.PLATFORM if organization_id is None else ChangeScope.ORGANIZATION
    statement = f"""select {CHANGES.columns} from change_log
        where {SCOPES[scope]} and ($2::bigint is null or id < $2) and ($3 = '' or action = $3)
          and ($4 = '' or strpos(lower(concat_ws(' ', actor_name, actor_email, subject)), lower($4)) > 0)
          and ($5::timestamptz is null or at >= $5) and ($6::timestamptz is null or at < $6)
        order by id desc limit $7"""
    rows = await db.fetch(
        statement,
        organization_id,
        before_id,
        wanted.action,
        wanted.search,
        wanted.span.starts_at,
        wanted.span.ends_before,
        limit,
    )
    return [CHANGES.read(row) for row in rows]
