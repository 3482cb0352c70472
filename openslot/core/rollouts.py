"""Rollouts: how long processes of the previous release may still be running."""

from datetime import datetime, timedelta

from openslot.core.db import Db

LASTS_AT_MOST = timedelta(days=1)


async def is_over(db: Db, migration: str, *, now: datetime) -> bool:
    """Return whether a migration was applied so long ago that no process still runs the release before it."""
    applied_at: datetime | None = await db.fetchval("select applied_at from migrations where name = $1", migration)
    return applied_at is not None and applied_at <= now - LASTS_AT_MOST
