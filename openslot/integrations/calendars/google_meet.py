"""Google Meet: a booking's event in the host's Google Calendar is asked for a conference, which is ready by and by."""

from uuid import UUID

from msgspec import Struct

from openslot.core.work import Work
from openslot.event_types.ports import NO_CALENDAR, NOT_MADE, ConferenceFault, ConferenceRefused, LinkWanted
from openslot.i18n import Text
from openslot.integrations.calendars import event_store
from openslot.integrations.calendars.errors import CalendarFault, CalendarForbidden
from openslot.integrations.calendars.google_client import GoogleClient, path_of
from openslot.integrations.calendars.json_client import BadRequest
from openslot.integrations.calendars.models import ConnectionKind, WriteTarget
from openslot.integrations.oauth.operations import GrantTokens

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


class GoogleMeet:
    """Implements the port `Conference`."""

    label = "Google Meet"

    def compute(self) -> None:
        return None

    async def find_obstacle(self, work: Work, host_id: UUID) -> Text | None:
        return None if await event_store.receives_at(work.db, host_id, ConnectionKind.GOOGLE) else NO_CALENDAR

    async def request(self, work: Work, wanted: LinkWanted) -> str | None:
        """Read the link of a booking's event; if the event has no conference yet, ask for one."""
        target = await _find_target(work, wanted)
        if target is None:
            raise ConferenceRefused(NO_CALENDAR)
        if target.written is None:
            return None
        runtime = work.runtime
        outbound = runtime.outbound.on_behalf_of(target.owner_id)
        tokens = GrantTokens(runtime, target.connection_id)
        client = GoogleClient(outbound, runtime.settings.google_api_url, tokens)
        try:
            return await _ask(client, path_of(target.url, target.written.href), wanted.booking_id)
        except (BadRequest, CalendarForbidden) as fault:
            raise ConferenceRefused(fault.message) from None
        except CalendarFault as fault:
            raise ConferenceFault(fault.message) from None
        finally:
            await client.close()


async def _find_target(work: Work, wanted: LinkWanted) -> WriteTarget | None:
    """Find the Google calendar that has the booking, or will have it."""
    for calendar_id in await event_store.list_targets(work.db, wanted.booking_id, wanted.host_id, is_confirmed=True):
        target = await event_store.find_target(work.db, calendar_id, wanted.booking_id)
        if target is not None and target.kind is ConnectionKind.GOOGLE:
            return target
    return None


async def _ask(client: GoogleClient, path: str, booking_id: UUID) -> str | None:
    """Return the link if it is there. Google ignores a request with an id that it has seen, so that a retry is safe."""
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
