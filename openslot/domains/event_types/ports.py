"""The port of a service for video calls: it makes a link for each booking, at once or by and by."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.work import Work
from openslot.platform.i18n import CodedReason, Text

NO_CALENDAR = CodedReason("conferences.no_calendar", "bookings are not written to a Google calendar")
NO_MICROSOFT_CALENDAR = CodedReason(
    "conferences.no_microsoft_calendar", "bookings are not written to a calendar of Microsoft 365"
)
NO_TEAMS = CodedReason("conferences.no_teams", "this account can't make meetings of Microsoft Teams")
NOT_MADE = CodedReason("conferences.not_made", "the service could not make a link")


class ConferenceFault(Exception):
    """The service did not make a link; the same request may succeed later."""


class ConferenceRefused(ConferenceFault):
    """The service makes no link for this host or this meeting, however often it is asked."""


class LinkWanted(Struct, frozen=True, kw_only=True):
    """The meeting that a link is made for; all who have booked a group session share one."""

    key: str
    """The same in every attempt, and for all bookings of a session: one key has one link."""
    booking_id: UUID
    """The first booking that waits for it."""
    host_id: UUID
    starts_at: datetime
    ends_at: datetime


class Conference(Protocol):
    """One service for video calls."""

    label: str
    """The name of the service, as people know it."""

    def compute(self) -> str | None:
        """Make a new link that nobody can guess without asking anybody; None if the service has to be asked.

        It is called while somebody books, inside a transaction.
        """
        ...

    async def find_obstacle(self, work: Work, host_id: UUID) -> Text | None:
        """Say why a host can't have links of this service; None if nothing is missing."""
        ...

    async def request(self, work: Work, wanted: LinkWanted) -> str | None:
        """Ask for the link of a key; None while it is not ready. The worker asks again, also after a crash.

        It is called outside of any transaction; faults are a `ConferenceFault`.
        """
        ...


class Conferences(Protocol):
    """The services for video calls that are set up, by the names that locations have."""

    def find(self, name: str) -> Conference | None: ...

    async def list_offered(self, work: Work, host_id: UUID) -> Mapping[str, str]:
        """Name the services that a host can have links of."""
        ...
