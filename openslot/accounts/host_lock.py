"""The host's lock: whoever changes a host's time takes it before reading what the change is decided from."""

from uuid import UUID

from openslot.core.db import Db

# The first of the two numbers of an advisory lock: a host never waits for something else that has the same number.
HOSTS = 1

# A column that makes one change of a host's time wait for the other: worked out for the row that is found and for no
# other, whatever the plan. What the others left behind is seen by the next statement only: this one looks at the
# database as it was before the wait.
LOCK_HOST = f"take_turn({HOSTS}, u.no::int)"
TRY_LOCK_HOST = f"pg_try_advisory_xact_lock({HOSTS}, $1::bigint::int)"


async def lock_host(db: Db, user_id: UUID) -> None:
    """Wait for the host's lock and keep it until the commit."""
    await db.execute(f"select {LOCK_HOST} from users u where u.id = $1", user_id)


async def try_lock_host(db: Db, host_no: int) -> bool:
    """Take the host's lock until the commit; False where somebody else has it."""
    return bool(await db.fetchval(f"select {TRY_LOCK_HOST}", host_no))
