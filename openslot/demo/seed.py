"""Make the demo data, at any time and repeatedly: the same people, new keys, nothing deleted."""

from msgspec import Struct

from openslot.demo.agent_calls import make_agent_calls
from openslot.demo.deliveries import make_deliveries
from openslot.demo.history import has_bookings, make_past, make_visits
from openslot.demo.meetings import make_meetings, make_talks
from openslot.demo.offers import list_offers, make_offers, make_second_offers
from openslot.demo.people import ADMIN, HOST, SECOND_HOST, SignIn, make_keys, make_people, make_sign_in
from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import DEMO
from openslot.platform.core.work import Work


class SeededEventType(Struct, frozen=True, kw_only=True):
    id: str
    slug: str


class Seeded(Struct, frozen=True, kw_only=True, rename="camel"):
    """All that a person or a script needs to use the service; the keys are shown only once."""

    base_url: str
    user: SignIn
    admin: SignIn
    api_key: str
    scim_token: str
    agent_keys: dict[str, str]
    event_types: list[SeededEventType]


async def seed(work: Work) -> Seeded:
    work = work.acting_as(DEMO)
    people = await make_people(work)
    host = people[HOST.username]
    offers = await make_offers(work, host)
    await _make_bookings(work, people, offers)
    await make_deliveries(work, host)
    await make_talks(work, host)
    await make_visits(work, host, offers)
    api_key, scim_token, agent_keys = await make_keys(work, host)
    await make_agent_calls(work, host)
    return Seeded(
        base_url=work.runtime.settings.public_url,
        user=await make_sign_in(work, host),
        admin=await make_sign_in(work, people[ADMIN.username]),
        api_key=api_key,
        scim_token=scim_token,
        agent_keys=agent_keys,
        event_types=[SeededEventType(id=str(each.id), slug=each.slug) for each in offers],
    )


async def _make_bookings(work: Work, people: dict[str, User], offers: list[EventType]) -> None:
    """Make the bookings of everyone who has none yet."""
    host, second, admin = (people[each.username] for each in (HOST, SECOND_HOST, ADMIN))
    is_new = not await has_bookings(work, host)
    colleagues = ((second, await make_second_offers(work, second), 1.0), (admin, await list_offers(work, admin), 0.5))
    for each, offered, busy in ((host, offers, 2.7), *colleagues):
        if not await has_bookings(work, each):
            await make_past(work, each, offered, busy=busy)
    if is_new:
        await make_meetings(work, host, offers)
