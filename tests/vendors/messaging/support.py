"""A provider with its fake: what a test of the contract does on the other side."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from openslot.domains.conversations.models import Channel, MessageTemplate
from openslot.domains.messaging.models import CallNotice, MediaLimits, MessageCredentials, OutboundMessage
from openslot.domains.messaging.ports import MessageAccount
from openslot.platform.core.outbound import Outbound
from openslot.vendors.gateway.account import Gateway
from openslot.vendors.gateway.notices import read_notice
from openslot.vendors.twilio.account import Twilio
from openslot.vendors.twilio.notices import read_call, read_form
from openslot.vendors.twilio.signature import verify
from tests.support.clocks import MONDAY
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_server import Fault, Request
from tests.support.fake_twilio import Delivery, FakeTwilio

NUMBER, PHONE = "+4930111222", "+4915112345678"
TEMPLATE = MessageTemplate(id="HX" + "1" * 32, variables={"1": "Jonas", "2": "10:00"})
SINCE = MONDAY
LIMITS = MediaLimits(max_bytes=1000, content_types=("image/*", "audio/mpeg"))
MESSAGE = OutboundMessage(
    id=UUID("018f0000-0000-7000-8000-000000000001"),
    channel=Channel.SMS,
    sender=NUMBER,
    recipient=PHONE,
    body="Tomorrow at 10:00 – bis morgen 🙂 & +1",
    validity=timedelta(hours=2),
    status_url="https://openslot.example/api/notices/status",
)


class Peer(Protocol):
    """The provider's side."""

    account: MessageAccount

    @property
    def asked(self) -> list[Request]: ...

    def sent(self) -> list[tuple[str, str]]:
        """List recipient and text of what was taken."""
        ...

    def fail_next(self, fault: Fault) -> None: ...
    def opt_out(self, phone: str) -> None: ...
    def end(self, phone: str) -> None:
        """Let a number not exist."""
        ...

    def hear_from(self, phone: str, at: datetime) -> None:
        """Let somebody have written on WhatsApp."""
        ...

    def settle(self, id_: str, status: str) -> None: ...
    def add_file(self, id_: str, content: bytes, content_type: str) -> str: ...
    def has_file(self, ref: str) -> bool: ...
    def add_recording(self, content: bytes) -> str: ...
    async def ring(self, *statuses: str, seconds: int, recording: str) -> list[CallNotice]:
        """Let somebody call, and return the notices as they are read here."""
        ...

    def open_with(self, token: str, *, url: str | None = None) -> MessageAccount: ...
    def list_secrets(self) -> list[str]: ...


class TwilioPeer:
    def __init__(self, fake: FakeTwilio, outbound: Outbound) -> None:
        self.fake = fake
        self.books = fake.add_account()
        self.books.templates[TEMPLATE.id] = "Hello {{1}}, see you at {{2}}."
        self._outbound = outbound
        self.account: MessageAccount = self.open_with(self.books.token)

    @property
    def asked(self) -> list[Request]:
        return self.fake.asked

    def sent(self) -> list[tuple[str, str]]:
        return [(each.recipient, each.body) for each in self.books.sent]

    def fail_next(self, fault: Fault) -> None:
        self.fake.faults.append(fault)

    def opt_out(self, phone: str) -> None:
        self.books.opted_out.add(phone)

    def end(self, phone: str) -> None:
        self.books.bad_numbers.add(phone)

    def hear_from(self, phone: str, at: datetime) -> None:
        self.books.windows[phone] = at

    def settle(self, id_: str, status: str) -> None:
        self.books.move(self.books.messages[id_], status)

    def add_file(self, id_: str, content: bytes, content_type: str) -> str:
        return self.books.add_file(id_, content, content_type)

    def has_file(self, ref: str) -> bool:
        return ref in self.books.files

    def add_recording(self, content: bytes) -> str:
        return self.books.add_recording(content)

    async def ring(self, *statuses: str, seconds: int, recording: str) -> list[CallNotice]:
        self.books.call_url = "https://openslot.example/api/notices/calls"
        place = f"https://api.twilio.com/2010-04-01/Accounts/{self.books.sid}/{recording}"
        words = [status.replace("_", "-") for status in statuses]
        self.books.call(PHONE, *words, CallDuration=str(seconds), RecordingUrl=place)
        waiting, self.fake.notices.waiting = self.fake.notices.waiting, []
        return [read_call(self._verify(each)) for each in waiting]

    def _verify(self, told: Delivery) -> dict[str, str]:
        headers = {name.lower(): value for name, value in told.headers.items()}
        verify(told.url, told.body, headers, tokens=(self.books.token,))
        return read_form(told.body, account=self.books.sid)

    def open_with(self, token: str, *, url: str | None = None) -> MessageAccount:
        credentials = MessageCredentials(account=self.books.sid, token=token)
        return Twilio(url or self.fake.url).open(self._outbound, credentials)

    def list_secrets(self) -> list[str]:
        return [self.books.token]


class GatewayPeer:
    def __init__(self, fake: FakeGateway, outbound: Outbound) -> None:
        self.fake = fake
        self._outbound = outbound
        self.account: MessageAccount = self.open_with(fake.secret)

    @property
    def asked(self) -> list[Request]:
        return self.fake.asked

    def sent(self) -> list[tuple[str, str]]:
        return [(_address(each), _text(each)) for each in self.fake.messages.values()]

    def fail_next(self, fault: Fault) -> None:
        self.fake.faults.append(fault)

    def opt_out(self, phone: str) -> None:
        self.fake.opted_out.add(phone)

    def end(self, phone: str) -> None:
        self.fake.bad_numbers.add(phone)

    def hear_from(self, phone: str, at: datetime) -> None:
        self.fake.windows[phone] = at

    def settle(self, id_: str, status: str) -> None:
        self.fake.messages[id_]["status"] = status

    def add_file(self, id_: str, content: bytes, content_type: str) -> str:
        self.fake.files[f"{id_}/1"] = (content, content_type)
        return f"{id_}/1"

    def has_file(self, ref: str) -> bool:
        return ref in self.fake.files

    def add_recording(self, content: bytes) -> str:
        return self.add_file("recording", content, "audio/mpeg")

    async def ring(self, *statuses: str, seconds: int, recording: str) -> list[CallNotice]:
        read: list[CallNotice] = []

        async def post(_: str, headers: Mapping[str, str], body: bytes) -> int:
            named = {name.lower(): value for name, value in headers.items()}
            notice = read_notice(named, body, secrets=(self.fake.secret,), now=self.fake.clock())
            assert isinstance(notice, CallNotice)
            read.append(notice)
            return 200

        self.fake.post = post
        await self.fake.call(PHONE, *statuses, durationSeconds=seconds, recording=recording)
        return read

    def open_with(self, token: str, *, url: str | None = None) -> MessageAccount:
        credentials = MessageCredentials(account=url or self.fake.url, token=token)
        return Gateway(self.fake.clock).open(self._outbound, credentials)

    def list_secrets(self) -> list[str]:
        return [self.fake.secret, self.fake.secret.removeprefix("whsec_")]


def _address(message: dict[str, Any]) -> str:
    return f"whatsapp:{message['to']}" if message["channel"] == "whatsapp" else str(message["to"])


def _text(message: dict[str, Any]) -> str:
    if "template" not in message:
        return str(message["body"])
    variables = message["template"]["variables"]
    return f"Hello {variables['1']}, see you at {variables['2']}."
