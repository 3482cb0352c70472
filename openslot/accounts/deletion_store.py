"""All SQL of accounts that are being deleted."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.accounts.models import AccountDeletion, DeletionState, Membership, Role
from openslot.core.actor import Actor
from openslot.core.db import Db, Row

COLUMNS = """d.user_id, d.state, d.requested_at, d.requested_by, d.message, d.finish_by, d.cancelled_bookings,
d.finished_at"""

_actor = msgspec.json.Decoder(Actor)


async def close_for_good(db: Db, user_id: UUID, *, now: datetime) -> bool:
    """Close an account that is to be deleted; False if it is being deleted already, or gone."""
    statement = """update users set deleting_since = $2, disabled_at = coalesce(disabled_at, $2), updated_at = $2,
            suspended_by = null, suspended_at = null
        where id = $1 and deleting_since is null returning id"""
    closed = await db.fetchval(statement, user_id, now)
    return closed is not None


async def is_leaving(db: Db, user_id: UUID) -> bool:
    """Return whether an account is being deleted, or is gone."""
    return not await db.fetchval("select exists (select from users where id = $1 and deleting_since is null)", user_id)


async def insert_deletion(db: Db, deletion: AccountDeletion) -> None:
    """Write that an account is to be deleted."""
    statement = """insert into account_deletions (user_id, state, requested_at, requested_by, message, finish_by)
        values ($1, $2, $3, $4, $5, $6)"""
    await db.execute(
        statement,
        deletion.user_id,
        deletion.state,
        deletion.requested_at,
        msgspec.json.encode(deletion.requested_by).decode(),
        deletion.message,
        deletion.finish_by,
    )


async def list_under_way(db: Db, *, limit: int) -> list[AccountDeletion]:
    """List deletions that are not done, oldest first."""
    rows = await db.fetch(
        f"select {COLUMNS} from account_deletions d where d.state <> 'done' order by d.requested_at limit $1", limit
    )
    return [to_deletion(row) for row in rows]


async def lock_deletion(db: Db, user_id: UUID) -> AccountDeletion | None:
    """Read a deletion that is not done and keep others from going on with it; None if another does."""
    statement = f"""select {COLUMNS} from account_deletions d where d.user_id = $1 and d.state <> 'done'
        for update skip locked"""
    row = await db.fetchrow(statement, user_id)
    return to_deletion(row) if row else None


async def update_state(db: Db, user_id: UUID, state: DeletionState, *, cancelled: int = 0) -> None:
    """Write how far a deletion is, and how many more bookings were cancelled for it."""
    statement = (
        "update account_deletions set state = $2, cancelled_bookings = cancelled_bookings + $3 where user_id = $1"
    )
    await db.execute(statement, user_id, state, cancelled)


async def finish_deletion(db: Db, user_id: UUID, *, now: datetime) -> None:
    """Delete the user's row with all that belongs to it, and keep only that it happened."""
    await db.execute("delete from users where id = $1", user_id)
    statement = """update account_deletions set state = 'done', requested_by = null, message = null, finished_at = $2
        where user_id = $1"""
    await db.execute(statement, user_id, now)


async def list_memberships(db: Db, user_id: UUID) -> list[tuple[str, Membership]]:
    """List a user's memberships with the names of the organizations."""
    statement = """select o.name, m.id, m.organization_id, m.user_id, m.role, m.active, m.created_at, m.updated_at
        from memberships m join organizations o on o.id = m.organization_id where m.user_id = $1 order by m.id"""
    rows = await db.fetch(statement, user_id)
    found = []
    for row in rows:
        fields = dict(row)
        name = fields.pop("name")
        found.append((name, Membership(**{**fields, "role": Role(fields["role"])})))
    return found


def to_deletion(row: Row) -> AccountDeletion:
    """Make a deletion of a row that has `COLUMNS`."""
    actor = row["requested_by"]
    state = DeletionState(row["state"])
    return AccountDeletion(**{**row, "state": state, "requested_by": _actor.decode(actor) if actor else None})
