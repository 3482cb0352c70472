"""The services for video calls of an installation, by name; Jitsi needs nobody to be asked."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

from openslot.domains.event_types.ports import Conference, LinkWanted
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Work
from openslot.vendors.google.meet import GOOGLE_MEET, GoogleMeet
from openslot.vendors.microsoft.teams import MICROSOFT_TEAMS, MicrosoftTeams

JITSI = "jitsi"


class Jitsi:
    """Implements the port `Conference`: a room exists as soon as somebody opens its address."""

    label = "Jitsi"

    def __init__(self, server_url: str) -> None:
        self._server_url = server_url.rstrip("/")

    def compute(self) -> str:
        # Servers compare names of rooms without regard to case: 128 bits in digits that have none.
        return f"{self._server_url}/{secrets.token_hex(16)}"

    async def find_obstacle(self, work: Work, host_id: UUID) -> None:
        return None

    async def request(self, work: Work, wanted: LinkWanted) -> str:
        """Make a link for a booking from before the server was set up."""
        return self.compute()


class InstalledConferences:
    """Implements the port `Conferences`."""

    def __init__(self, conferences: Mapping[str, Conference]) -> None:
        self._conferences = dict(conferences)

    def find(self, name: str) -> Conference | None:
        return self._conferences.get(name)

    async def list_offered(self, work: Work, host_id: UUID) -> Mapping[str, str]:
        return {
            name: each.label
            for name, each in self._conferences.items()
            if await each.find_obstacle(work, host_id) is None
        }


@asynccontextmanager
async def open_conferences(settings: Settings) -> AsyncIterator[InstalledConferences]:
    found: dict[str, Conference] = {}
    if settings.jitsi_url is not None:
        found[JITSI] = Jitsi(settings.jitsi_url)
    if settings.google_client_id is not None:
        found[GOOGLE_MEET] = GoogleMeet()
    if settings.microsoft_client_id is not None:
        found[MICROSOFT_TEAMS] = MicrosoftTeams()
    yield InstalledConferences(found)
