"""What a user can choose: name, username, time zone and language; and how far the first steps have come."""

import asyncpg
from msgspec.structs import replace

from openslot.accounts import store
from openslot.accounts.errors import AdministratorProtected, UsernameTaken
from openslot.accounts.events import UserSettingsChanged
from openslot.accounts.former_usernames import check_may_reserve
from openslot.accounts.models import User, UserSettings
from openslot.accounts.rules import check_settings
from openslot.core.actor import ActorKind
from openslot.core.work import Work


async def change_settings(work: Work, user: User, wanted: UserSettings) -> User:
    """Change what is given and leave the rest."""
    given = check_settings(wanted)
    changed = replace(user, **given)
    names = tuple(name for name in given if getattr(user, name) != getattr(changed, name))
    if not names:
        return user
    try:
        async with work.attempt():
            is_admin = await store.update_settings(work.db, user.id, given, now=work.now)
            if "username" in names:
                await _check_renaming(work, user, is_admin=is_admin)
    except asyncpg.UniqueViolationError:
        raise UsernameTaken from None
    await work.record(
        UserSettingsChanged(
            user_id=user.id,
            email=user.email,
            changed=names,
            name=changed.name,
            username=changed.username,
            zone=changed.zone,
            locale=changed.locale,
        )
    )
    return replace(changed, updated_at=work.now)


async def _check_renaming(work: Work, user: User, *, is_admin: bool) -> None:
    """Refuse a new username after it is written: from then on nobody else changes the user before the commit."""
    if is_admin and work.actor.kind is ActorKind.AGENT:
        raise AdministratorProtected
    await check_may_reserve(work, user)


async def set_welcome_step(work: Work, user: User, step: int) -> None:
    """Keep which of the first steps comes next; once they are finished or skipped, nothing changes."""
    await store.update_welcome_step(work.db, user.id, step)


async def finish_welcome(work: Work, user: User) -> None:
    """Keep that a user has finished or skipped the first steps."""
    await store.update_welcome_step(work.db, user.id, None)
