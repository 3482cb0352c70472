"""Rollouts: how long the processes of the release before may still be at work."""

from datetime import datetime, timedelta

from openslot.core.db import Db

LASTS_AT_MOST = timedelta(days=1)


async def is_over(db: Db, migration: str, *, now: datetime) -> bool:
    """Tell whether a migration was applied so long ago that nobody runs the release before it any more."""
    applied_at: datetime | None = await db.fetchval("select applied_at from migrations where name = $1", migration)
    return applied_at is not None and applied_at <= now - LASTS_AT_MOST
