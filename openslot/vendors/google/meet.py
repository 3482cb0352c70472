"""Google Meet: a booking's event in the host's Google Calendar is asked for a conference, which is ready by and by."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.calendars.models import ConnectionKind
from openslot.domains.event_types.ports import NO_CALENDAR, NOT_MADE, ConferenceRefused
from openslot.domains.oauth.models import TokenSource
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.vendors.calendar_conferences import CalendarConference
from openslot.vendors.google.client import GoogleClient, path_of

GOOGLE_MEET = "google_meet"
FIELDS = {"fields": "conferenceData(createRequest(requestId,status),entryPoints(entryPointType,uri))"}
# Nobody is told of the change of the event.
QUIETLY = {"sendUpdates": "none", "conferenceDataVersion": "1"}
MAX_REQUESTS = 3


class RequestStatus(Struct, frozen=True, rename="camel"):
    status_code: str = ""


class CreateRequest(Struct, frozen=True, rename="camel"):
    request_id: str = ""
    status: RequestStatus = RequestStatus()


class EntryPoint(Struct, frozen=True, rename="camel"):
    entry_point_type: str = ""
    uri: str = ""


class ConferenceData(Struct, frozen=True, rename="camel"):
    create_request: CreateRequest | None = None
    entry_points: tuple[EntryPoint, ...] = ()

    @property
    def link(self) -> str | None:
        return next((each.uri for each in self.entry_points if each.entry_point_type == "video"), None)

    @property
    def has_failed(self) -> bool:
        return self.create_request is not None and self.create_request.status.status_code == "failure"


class EventWithConference(Struct, frozen=True, rename="camel"):
    conference_data: ConferenceData = ConferenceData()


class GoogleMeet(CalendarConference[GoogleClient]):
    label = "Google Meet"
    kind = ConnectionKind.GOOGLE
    no_calendar = NO_CALENDAR

    def open_client(self, runtime: Runtime, outbound: Outbound, tokens: TokenSource, mailbox: UUID) -> GoogleClient:
        return GoogleClient(outbound, runtime.settings.google_api_url, tokens)

    async def ask(self, client: GoogleClient, calendar: str, event: str, booking_id: UUID) -> str | None:
        """Return the link if it is there. Google ignores a request with an id that it has seen: a retry is safe."""
        path = path_of(calendar, event)
        found = (await client.get(path, EventWithConference, FIELDS)).conference_data
        if found.link is not None:
            return found.link
        if found.create_request is not None and not found.has_failed:
            return None
        failed = _count_failed(found.create_request)
        asked = {
            "requestId": f"{booking_id.hex}-{failed + 1}",
            "conferenceSolutionKey": {"type": "hangoutsMeet"},
        }
        body = {"conferenceData": {"createRequest": asked}}
        made = await client.write("PATCH", path, EventWithConference, body, query={**QUIETLY, **FIELDS})
        if made.conference_data.link is None and failed >= MAX_REQUESTS:
            # The host is told. If they try again, the answer to this request is found.
            raise ConferenceRefused(NOT_MADE)
        return made.conference_data.link


def _count_failed(asked: CreateRequest | None) -> int:
    """Return how many requests have failed, which is a part of the id; one of another program counts as one."""
    if asked is None:
        return 0
    number = asked.request_id.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 5 else 1
