"""The host's lock: every change of a host's time takes it before reading the data that decides the change."""

from uuid import UUID

from openslot.core.db import Db

# The first of the two numbers of an advisory lock, so that a host never waits for another lock with the same number.
HOSTS = 1

# A column that makes changes of a host's time wait for each other. It is computed only for the row that is found,
# whatever the plan. Only the next statement sees what the other changes have written: this one sees the database as it
# was before the wait.
LOCK_HOST = f"take_turn({HOSTS}, u.no::int)"
TRY_LOCK_HOST = f"pg_try_advisory_xact_lock({HOSTS}, $1::bigint::int)"


async def lock_host(db: Db, user_id: UUID) -> None:
    """Wait for the host's lock and keep it until the commit."""
    await db.execute(f"select {LOCK_HOST} from users u where u.id = $1", user_id)


async def try_lock_host(db: Db, host_no: int) -> bool:
    """Take the host's lock until the commit; False if another transaction holds it."""
    return bool(await db.fetchval(f"select {TRY_LOCK_HOST}", host_no))
