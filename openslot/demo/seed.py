"""Make the demo data, at any time and repeatedly: the same people, new keys, nothing deleted."""

from msgspec import Struct

from openslot.core.actor import DEMO
from openslot.core.work import Work
from openslot.demo.meetings import make_meetings, make_talks
from openslot.demo.offers import make_offers, make_second_offers
from openslot.demo.people import ADMIN, HOST, SECOND_HOST, SignIn, make_keys, make_people
from openslot.demo.visits import make_visits


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
    host, host_sign_in = people[HOST.username]
    offers = await make_offers(work, host)
    await make_second_offers(work, people[SECOND_HOST.username][0])
    await make_meetings(work, host, offers)
    await make_talks(work, host)
    await make_visits(work, host, offers)
    api_key, scim_token, agent_keys = await make_keys(work, host)
    return Seeded(
        base_url=work.runtime.settings.public_url,
        user=host_sign_in,
        admin=people[ADMIN.username][1],
        api_key=api_key,
        scim_token=scim_token,
        agent_keys=agent_keys,
        event_types=[SeededEventType(id=str(each.id), slug=each.slug) for each in offers],
    )
