"""Video calls that a calendar makes: the event of a booking in its host's calendar is asked for one, by and by."""

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar
from uuid import UUID

from openslot.domains.calendars import event_store
from openslot.domains.calendars.errors import CalendarFault, CalendarForbidden
from openslot.domains.calendars.models import ConnectionKind, WriteTarget
from openslot.domains.event_types.ports import ConferenceFault, ConferenceRefused, LinkWanted
from openslot.domains.oauth.models import TokenSource
from openslot.domains.oauth.operations import GrantTokens
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text
from openslot.vendors.json_client import BadRequest, JsonClient

C = TypeVar("C", bound=JsonClient)


class CalendarConference(ABC, Generic[C]):
    """Implements the port `Conference` for the calendars of one vendor."""

    label: str
    kind: ClassVar[ConnectionKind]
    no_calendar: ClassVar[Text]
    """The reason shown while bookings are written to another calendar."""

    @abstractmethod
    def open_client(self, runtime: Runtime, outbound: Outbound, tokens: TokenSource, mailbox: UUID) -> C: ...

    @abstractmethod
    async def ask(self, client: C, calendar: str, event: str, booking_id: UUID) -> str | None:
        """Read the link of an event; if it has no conference yet, ask for one. None while it is not ready."""

    def compute(self) -> None:
        return None

    async def find_obstacle(self, work: Work, host_id: UUID) -> Text | None:
        return None if await event_store.receives_at(work.db, host_id, self.kind) else self.no_calendar

    async def request(self, work: Work, wanted: LinkWanted) -> str | None:
        target = await self._find_target(work, wanted)
        if target is None:
            raise ConferenceRefused(self.no_calendar)
        if target.written is None:
            return None
        outbound = work.runtime.outbound.on_behalf_of(target.owner_id)
        tokens = GrantTokens(work.runtime, target.connection_id)
        client = self.open_client(work.runtime, outbound, tokens, target.connection_id)
        try:
            return await self.ask(client, target.url, target.written.href, wanted.booking_id)
        except (BadRequest, CalendarForbidden) as fault:
            raise ConferenceRefused(fault.message) from None
        except CalendarFault as fault:
            raise ConferenceFault(fault.message) from None
        finally:
            await client.close()

    async def _find_target(self, work: Work, wanted: LinkWanted) -> WriteTarget | None:
        """Find the vendor's calendar that has the booking, or will have it."""
        ids = await event_store.list_targets(work.db, wanted.booking_id, [wanted.host_id], is_confirmed=True)
        for calendar_id in ids:
            target = await event_store.find_target(work.db, calendar_id, wanted.booking_id)
            if target is not None and target.kind is self.kind:
                return target
        return None
