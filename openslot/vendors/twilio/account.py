"""One account at Twilio: sends messages, finds those whose answer was lost, fetches and deletes files."""

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import quote, urljoin

import msgspec
from msgspec import Struct, field

from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import (
    AccountCheck,
    Media,
    MediaLimits,
    MessageCredentials,
    NumberState,
    OutboundMessage,
    ProviderName,
    RefusalReason,
    SentMessage,
)
from openslot.domains.messaging.ports import MessageRefused, MessagesUnavailable
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, OutboundResponse
from openslot.vendors.media import read_media
from openslot.vendors.twilio.client import TwilioClient, describe_answer, describe_failure
from openslot.vendors.twilio.codes import STATUSES, find_reason

LONGEST_VALIDITY = 36_000
# How far Twilio's clock may differ from ours.
SKEW = timedelta(minutes=2)
TRIAL = "Sent from your Twilio trial account - "
MEDIA = re.compile(r"Messages/(?:SM|MM)[0-9a-f]{32}/Media/ME[0-9a-f]{32}", re.ASCII)
RECORDING = re.compile(r"Recordings/RE[0-9a-f]{32}", re.ASCII)
MEDIA_WITHIN = timedelta(seconds=30)
# Twilio leads to its own store of files, which leads on to a signed address.
MAX_REDIRECTS = 3


class WireMessage(Struct, frozen=True):
    sid: str
    status: str
    error_code: int | None = None
    body: str | None = None
    sender: str | None = field(default=None, name="from")
    date_created: str | None = None


class WireMessages(Struct, frozen=True):
    messages: list[WireMessage]


class WireFile(Struct, frozen=True):
    sid: str


class WireFiles(Struct, frozen=True):
    media_list: list[WireFile]


class WireAccountDetails(Struct, frozen=True):
    friendly_name: str | None = None
    status: str = "active"


class WireCapabilities(Struct, frozen=True):
    sms: bool = False
    voice: bool = False


class WireNumber(Struct, frozen=True):
    phone_number: str
    capabilities: WireCapabilities = WireCapabilities()


class WireNumbers(Struct, frozen=True):
    incoming_phone_numbers: list[WireNumber]


class TwilioAccount:
    """Implements the port `MessageAccount`."""

    def __init__(self, outbound: Outbound, *, url: str, account: MessageCredentials) -> None:
        self._outbound = outbound
        self._client = TwilioClient(outbound, url=url, account=account)

    async def check(self, *, channel: ConnectionChannel, number: str) -> AccountCheck:
        account = await self._client.get(".json", WireAccountDetails)
        if account.status != "active":
            raise MessageRefused("the account is not active", reason=RefusalReason.NOT_ALLOWED)
        return AccountCheck(
            account_name=account.friendly_name,
            # Twilio lists senders of WhatsApp at another address, and those of its sandbox nowhere.
            number=NumberState.UNKNOWN if channel is ConnectionChannel.WHATSAPP else await self._find(channel, number),
        )

    async def send(self, message: OutboundMessage) -> SentMessage:
        return _to_sent(await self._client.post("/Messages.json", WireMessage, _write(message)))

    async def find_sent(
        self, message: OutboundMessage, *, since: datetime, known: Collection[str] = ()
    ) -> SentMessage | None:
        since -= SKEW
        parameters = {
            "To": _address(message.channel, message.recipient),
            "DateSent>": since.strftime("%Y-%m-%d"),
            "PageSize": "100",
        }
        listed = await self._client.get("/Messages.json", WireMessages, parameters)
        found = [each for each in listed.messages if each.sid not in known and _is_it(each, message, since)]
        # Twilio lists the newest first.
        return _to_sent(found[-1]) if found else None

    async def get_status(self, message_id: str) -> SentMessage:
        return _to_sent(await self._client.get(f"/Messages/{quote(message_id, safe='')}.json", WireMessage))

    async def fetch_media(self, ref: str, *, limits: MediaLimits) -> Media:
        """Follow Twilio to its store of files; only the first request has the account's token."""
        url, headers = f"{self._client.base}/{_check_ref(ref)}", self._client.headers
        if RECORDING.fullmatch(ref):
            url += ".mp3"
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._fetch(url, headers, at_most=limits.max_bytes)
            if not 300 <= response.status < 400 or "location" not in response.headers:
                return _read_media(response, limits)
            url, headers = urljoin(url, response.headers["location"]), {}
        raise MessagesUnavailable("Twilio redirects without end", may_have_arrived=False)

    async def delete_message(self, message_id: str) -> None:
        path = f"/Messages/{quote(message_id, safe='')}"
        for file in await self._list_files(path):
            await self._client.delete(f"{path}/Media/{file.sid}.json")
        await self._client.delete(f"{path}.json")

    async def delete_media(self, ref: str) -> None:
        await self._client.delete(f"/{_check_ref(ref)}.json")

    async def close(self) -> None:
        await self._client.close()

    async def _find(self, channel: ConnectionChannel, number: str) -> NumberState:
        listed = await self._client.get("/IncomingPhoneNumbers.json", WireNumbers, {"PhoneNumber": number})
        # Twilio finds every number that contains the digits.
        found = next((each for each in listed.incoming_phone_numbers if each.phone_number == number), None)
        if found is None:
            return NumberState.MISSING
        can = found.capabilities
        is_capable = can.voice if channel is ConnectionChannel.VOICE else can.sms
        return NumberState.READY if is_capable else NumberState.NOT_CAPABLE

    async def _fetch(self, url: str, headers: dict[str, str], *, at_most: int) -> OutboundResponse:
        try:
            return await self._outbound.send("GET", url, headers=headers, within=MEDIA_WITHIN, at_most=at_most)
        except (OutboundFailed, OutboundRefused) as fault:
            raise describe_failure(fault) from None

    async def _list_files(self, path: str) -> list[WireFile]:
        try:
            return (await self._client.get(f"{path}/Media.json", WireFiles)).media_list
        except MessageRefused as refused:
            if refused.reason is not RefusalReason.NOT_FOUND:
                raise
            return []


class Twilio:
    """Implements the port `MessageProvider`."""

    name = ProviderName.TWILIO

    def __init__(self, url: str) -> None:
        self._url = url

    def open(self, outbound: Outbound, account: MessageCredentials) -> TwilioAccount:
        return TwilioAccount(outbound, url=self._url, account=account)


def _address(channel: Channel, number: str) -> str:
    return f"whatsapp:{number}" if channel is Channel.WHATSAPP else number


def _write(message: OutboundMessage) -> dict[str, str]:
    parameters = {
        "To": _address(message.channel, message.recipient),
        "From": _address(message.channel, message.sender),
    }
    if message.template is not None:
        parameters["ContentSid"] = message.template.id
        parameters["ContentVariables"] = msgspec.json.encode(dict(message.template.variables)).decode()
    else:
        parameters["Body"] = message.body or ""
    if message.validity is not None:
        seconds = message.validity // timedelta(seconds=1)
        if seconds < 1:
            raise MessageRefused("the message would arrive too late", reason=RefusalReason.OTHER)
        parameters["ValidityPeriod"] = str(min(seconds, LONGEST_VALIDITY))
    if message.status_url is not None:
        parameters["StatusCallback"] = message.status_url
    return parameters


def _is_it(found: WireMessage, message: OutboundMessage, since: datetime) -> bool:
    """Compare what Twilio lists with what was sent; of a template it keeps only the text that it has made of it."""
    if found.sender != _address(message.channel, message.sender) or not _is_since(found.date_created, since):
        return False
    text = (found.body or "").removeprefix(TRIAL).strip()
    if message.template is None:
        return text == (message.body or "").strip()
    filled = [value for value in message.template.variables.values() if value.strip()]
    # Without anything filled in, every other message would look the same.
    return bool(filled) and all(value in text for value in filled)


def _is_since(created: str | None, since: datetime) -> bool:
    try:
        return created is not None and parsedate_to_datetime(created) >= since
    except (ValueError, TypeError):
        return False


def _to_sent(message: WireMessage) -> SentMessage:
    status = STATUSES.get(message.status)
    if status is None:
        raise MessagesUnavailable("Twilio's answer has an unknown status", may_have_arrived=True)
    code = message.error_code
    return SentMessage(
        id=message.sid,
        status=status,
        code=None if code is None else str(code),
        reason=None if code is None else find_reason(code),
    )


def _check_ref(ref: str) -> str:
    if not MEDIA.fullmatch(ref) and not RECORDING.fullmatch(ref):
        raise MessageRefused("this is no file at Twilio", reason=RefusalReason.NOT_FOUND)
    return ref


def _read_media(response: OutboundResponse, limits: MediaLimits) -> Media:
    if not 200 <= response.status < 300:
        raise describe_answer(response.status, response.headers.get("retry-after"), response.body)
    return read_media(response, limits)
