"""The public side of the wait list: join it without a key."""

from openslot.domains.availability.models import ById
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.wait_list import operations, schemas
from openslot.domains.wait_list.models import WaitListWanted
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Success, post

JOINS = RateLimit("wait", 10)
"""How often one address may join, whether by the API or by the form of a page."""


@post("/wait-list", summary="Create an entry on the wait list of a full day", limit=JOINS)
async def join_wait_list(work: Work, data: schemas.JoinBody) -> Success:
    """Wait for a time on a day, or in a group session, that is full. The address is confirmed by a link in an email.

    The answer is the same for an address that waits already.
    """
    wanted = WaitListWanted(
        which=ById(parse_id(data.event_type_id, EventTypeNotFound), data.token, data.duration_minutes),
        day=data.date,
        starts_at=data.start_time,
        name=data.name,
        email=data.email,
        zone=data.timezone,
        locale=data.locale,
    )
    await operations.join_wait_list(work, wanted)
    return Success()
