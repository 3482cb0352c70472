"""A user's own bookings as a feed for calendar programs, behind a secret link that can be renewed and revoked."""

from datetime import datetime, timedelta

from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.bookings import operations as bookings
from openslot.bookings.links import booking_url
from openslot.core.errors import NotFound
from openslot.core.secrets import fingerprint, new_token
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.integrations.calendars import store
from openslot.integrations.calendars.writing import write_feed

MOST_BOOKINGS = 2_000
BEHIND = timedelta(days=90)


async def renew_feed(work: Work, owner: User) -> str:
    """Make the secret link to a user's own bookings, replacing the previous one, and return it only this once."""
    token = new_token()
    await store.upsert_feed(work.db, owner.id, fingerprint(token), now=work.now)
    return f"{work.runtime.settings.public_url}/feed/{token}.ics"


async def find_feed(work: Work, owner: User) -> datetime | None:
    """Return when a user's secret link was made; None if there is none."""
    return await store.find_feed(work.db, owner.id)


async def revoke_feed(work: Work, owner: User) -> bool:
    """Revoke a user's secret link; False if there was none."""
    return await store.delete_feed(work.db, owner.id)


async def get_feed_owner(work: Work, token: str) -> User:
    """Return the user who made a secret link."""
    owner_id = await store.find_feed_owner(work.db, fingerprint(token))
    if owner_id is None or not await flags.is_enabled(work, FlagKey.CALENDAR_FEEDS, user_id=owner_id):
        raise NotFound
    return await accounts.get_user(work, owner_id)


async def write_bookings(work: Work, owner: User) -> bytes:
    """Write the confirmed bookings of a user, starting 90 days ago, as iCalendar."""
    found = await bookings.list_confirmed(work, owner, since=work.now - BEHIND, limit=MOST_BOOKINGS)
    linked = ((details, booking_url(work.runtime, details.booking.id)) for details in found)
    return write_feed(linked, host_name=owner.name, host_email=owner.email)
