"""What a host's page shows beside the name: a welcome text and a photo."""

from openslot.accounts import profile_store as store
from openslot.accounts.models import User
from openslot.accounts.pictures import Picture
from openslot.core.errors import Invalid
from openslot.core.text import NOT_ALLOWED, at_most_characters, is_prose
from openslot.core.work import Work

LONGEST_WELCOME = 1000


def check_welcome(text: str) -> str | None:
    """Return a welcome text without the space around it, None if it is blank, or refuse it."""
    kept = text.strip()
    if not is_prose(kept):
        raise Invalid(details={"welcome": NOT_ALLOWED})
    if len(kept) > LONGEST_WELCOME:
        raise Invalid(details={"welcome": at_most_characters(LONGEST_WELCOME)})
    return kept or None


async def find_welcome(work: Work, user: User) -> str | None:
    """Read the text on a host's page; None where there is none."""
    return await store.find_welcome(work.db, user.id)


async def set_welcome(work: Work, user: User, text: str) -> str | None:
    """Change the text on a host's page; a blank one removes it."""
    checked = check_welcome(text)
    await store.update_welcome(work.db, user.id, checked, now=work.now)
    return checked


async def set_photo(work: Work, user: User, picture: Picture) -> str:
    """Give a user a photo, in place of the one before, and return its hash."""
    await store.save_photo(work.db, user.id, picture.hash, picture, now=work.now)
    return picture.hash


async def remove_photo(work: Work, user: User) -> None:
    """Remove a user's photo; its address no longer exists from then on."""
    await store.delete_photo(work.db, user.id, now=work.now)


async def find_photo(work: Work, photo_hash: str) -> bytes | None:
    """Read a photo by its hash; None where nobody with an open account has it."""
    return await store.find_photo(work.db, photo_hash)


def photo_path(photo_hash: str | None) -> str | None:
    """Write the path at which a photo is served; None without a photo."""
    return f"/photos/{photo_hash}.jpg" if photo_hash else None
