"""Every adapter of the CRM port, and its fake, keep the same contract."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.crm.models import MeetingOutcome
from openslot.domains.crm.ports import CrmBusy, CrmCredentials, CrmRefused, CrmUnavailable
from openslot.domains.webhooks.rules import new_secret
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.crm_webhook import WebhookVendor
from tests.contracts.crm_servers import CrmContract, CrmPeer
from tests.support.fake_crm import CrmState, FakeCrm, WebhookReceiver, busy, receiving_crm, refusing
from tests.support.fake_server import Fault, FaultKind


class Seen(Struct, frozen=True, kw_only=True):
    """A meeting of the state that both fakes keep."""

    title: str
    starts_at: datetime
    ends_at: datetime
    outcome: MeetingOutcome
    url: str
    person_email: str


class StatePeer:
    """What is seen and done in the state of a fake."""

    def __init__(self, state: CrmState) -> None:
        self.state = state

    def list_people(self) -> dict[str, str]:
        return {email: person.name for email, (_, person) in self.state.people.items()}

    def rename(self, email: str, name: str) -> None:
        id_, person = self.state.people[email]
        self.state.people[email] = (id_, replace(person, name=name))

    def list_meetings(self) -> list[Seen]:
        emails = {id_: email for email, (id_, _) in self.state.people.items()}
        return [
            Seen(
                title=each.meeting.title,
                starts_at=each.meeting.starts_at,
                ends_at=each.meeting.ends_at,
                outcome=each.meeting.outcome,
                url=each.meeting.url,
                person_email=emails[each.person_id],
            )
            for each in self.state.meetings.values()
        ]

    def delete_meetings(self) -> None:
        self.state.meetings.clear()


class FakePeer(StatePeer):
    """The fake in memory."""

    secret = "a token of the fake"

    def __init__(self) -> None:
        self.crm = FakeCrm()
        super().__init__(self.crm.state)

    def lose_answer(self) -> None:
        self.crm.lost_answers.append("")

    def fail(self) -> None:
        self.crm.faults.append(CrmUnavailable("The CRM returned 500"))

    def refuse(self, reason: str) -> None:
        self.crm.faults.append(CrmRefused(reason))

    def ask_to_wait(self, seconds: int) -> None:
        self.crm.faults.append(CrmBusy(timedelta(seconds=seconds)))

    def revoke(self) -> None:
        self.crm.is_revoked = True


class WebhookPeer(StatePeer):
    """A receiver of the signed webhook, over HTTP."""

    def __init__(self, receiver: WebhookReceiver, outbound: Outbound) -> None:
        super().__init__(receiver.state)
        self.receiver = receiver
        self.secret = receiver.secret = new_secret()
        credentials = CrmCredentials(account=receiver.url, secret=self.secret)
        self.crm = WebhookVendor(lambda: datetime.now(UTC)).open(outbound, Settings(), credentials)

    def lose_answer(self) -> None:
        self.receiver.faults.append(Fault(FaultKind.LOSE_ANSWER))

    def fail(self) -> None:
        self.receiver.faults.append(Fault(FaultKind.STATUS, status=500))

    def refuse(self, reason: str) -> None:
        self.receiver.faults.append(refusing(reason))

    def ask_to_wait(self, seconds: int) -> None:
        self.receiver.faults.append(busy(seconds))

    def revoke(self) -> None:
        self.receiver.is_revoked = True


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    opened = Outbound(allow=(ip_network("127.0.0.0/8"),))
    yield opened
    await opened.close()


class TestFake(CrmContract):
    @pytest.fixture
    async def peer(self) -> CrmPeer:
        return FakePeer()


class TestWebhook(CrmContract):
    @pytest.fixture
    async def peer(self, outbound: Outbound) -> AsyncIterator[CrmPeer]:
        async with receiving_crm() as receiver:
            yield WebhookPeer(receiver, outbound)
