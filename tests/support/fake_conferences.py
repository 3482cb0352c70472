"""A service for video calls that is not ready at once, as Google Meet is not, and installations that have it."""

from collections import Counter
from uuid import UUID

from msgspec import Struct

from openslot.domains.event_types.models import Location, LocationKind
from openslot.domains.event_types.ports import Conference, Conferences, LinkWanted
from openslot.platform.core.work import Runtime, Work
from openslot.vendors.conferences import JITSI, InstalledConferences, Jitsi

SLOW = "slow"
BY_JITSI = Location(LocationKind.VIDEO_LINK, conference=JITSI)
BY_SLOW = Location(LocationKind.VIDEO_LINK, conference=SLOW)
SERVER = "https://meet.harbor.example/rooms"


class SlowConference:
    """Implements the port `Conference`: begins with the first request for a key, and is ready some requests later."""

    label = "Slow Meet"

    def __init__(self, *, ready_at: int = 2, forgets: bool = False) -> None:
        self.ready_at = ready_at
        self.forgets = forgets
        """Whether one key has another link at each request, against what the port asks for."""
        self.fault: Exception | None = None
        self.asked: list[LinkWanted] = []
        self.answer: str | None = None
        """What is answered in place of a link."""

    def compute(self) -> None:
        return None

    async def find_obstacle(self, work: Work, host_id: UUID) -> None:
        return None

    async def request(self, work: Work, wanted: LinkWanted) -> str | None:
        self.asked.append(wanted)
        if self.fault is not None:
            raise self.fault
        asked = Counter(each.key for each in self.asked)[wanted.key]
        if asked < self.ready_at:
            return None
        return self.answer or f"https://slow.example/{wanted.key}" + (f"-{asked}" if self.forgets else "")


def install(slow: Conference | None = None) -> dict[type, object]:
    """Say which services are set up, as fakes of a runtime."""
    found: dict[str, Conference] = {JITSI: Jitsi(SERVER)}
    if slow is not None:
        found[SLOW] = slow
    return {Conferences: InstalledConferences(found)}


class Links(Struct, frozen=True, kw_only=True):
    """What bookings say of their links: those that are confirmed by their claims, and those that are cancelled."""

    confirmed: dict[str, list[str]]
    cancelled: list[str]


async def read_links(runtime: Runtime) -> Links:
    rows = await runtime.pool.fetch(
        "select claim_id::text, status, location ->> 'value' as link from bookings order by id"
    )
    confirmed: dict[str, list[str]] = {}
    for row in rows:
        if row["status"] == "CONFIRMED":
            confirmed.setdefault(row["claim_id"], []).append(row["link"])
    return Links(confirmed=confirmed, cancelled=[row["link"] for row in rows if row["status"] == "CANCELLED"])
