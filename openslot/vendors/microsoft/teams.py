"""Microsoft Teams: a booking's event in the host's calendar becomes an online meeting, whose link may follow later."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.calendars.models import ConnectionKind
from openslot.domains.event_types.ports import NO_MICROSOFT_CALENDAR, NO_TEAMS, ConferenceRefused
from openslot.domains.oauth.models import TokenSource
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.vendors.calendar_conferences import CalendarConference
from openslot.vendors.microsoft.client import MicrosoftClient, calendar_path, event_path, path_of

MICROSOFT_TEAMS = "microsoft_teams"
PROVIDER = "teamsForBusiness"
FIELDS = {"$select": "isOnlineMeeting,onlineMeeting"}
# Without the body: writing it takes the meeting offline.
MAKE = {"isOnlineMeeting": True, "onlineMeetingProvider": PROVIDER}


class OnlineMeeting(Struct, frozen=True, rename="camel"):
    join_url: str | None = None


class EventWithMeeting(Struct, frozen=True, rename="camel"):
    is_online_meeting: bool | None = None
    online_meeting: OnlineMeeting | None = None

    @property
    def link(self) -> str | None:
        return self.online_meeting.join_url if self.online_meeting else None


class CalendarOfMeetings(Struct, frozen=True, rename="camel"):
    allowed_online_meeting_providers: tuple[str, ...] = ()


class MicrosoftTeams(CalendarConference[MicrosoftClient]):
    label = "Microsoft Teams"
    kind = ConnectionKind.MICROSOFT
    no_calendar = NO_MICROSOFT_CALENDAR

    def open_client(self, runtime: Runtime, outbound: Outbound, tokens: TokenSource, mailbox: UUID) -> MicrosoftClient:
        return MicrosoftClient(outbound, runtime.settings.microsoft_graph_url, tokens, mailbox=mailbox)

    async def ask(self, client: MicrosoftClient, calendar: str, event: str, booking_id: UUID) -> str | None:
        found = await client.get(path_of(calendar, event), EventWithMeeting, FIELDS)
        if found.link is not None or found.is_online_meeting:
            return found.link
        providers = {"$select": "allowedOnlineMeetingProviders"}
        allowed = await client.get(calendar_path(calendar), CalendarOfMeetings, providers)
        if PROVIDER not in allowed.allowed_online_meeting_providers:
            raise ConferenceRefused(NO_TEAMS)
        return (await client.write("PATCH", event_path(event), EventWithMeeting, MAKE)).link
