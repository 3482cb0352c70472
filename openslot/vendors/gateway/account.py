"""One gateway: sends messages, finds those whose answer was lost, fetches and deletes files."""

from base64 import b64decode
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct

from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import (
    AccountCheck,
    Media,
    MediaLimits,
    MessageCredentials,
    OutboundMessage,
    ProviderName,
    RefusalReason,
    SentMessage,
)
from openslot.domains.messaging.ports import (
    AccountRefused,
    MessageFault,
    MessageRefused,
    MessagesBusy,
    MessagesUnavailable,
    TokenRefused,
)
from openslot.domains.webhooks.rules import PREFIX, read_retry_after, signed_headers
from openslot.platform.core.ids import new_id
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, OutboundResponse
from openslot.vendors.gateway.wire import (
    GatewayAccountAnswer,
    GatewayFaultAnswer,
    GatewayFound,
    GatewayMessage,
    GatewayNumber,
    GatewayRequest,
    GatewaySent,
    GatewayTemplate,
    MediaKey,
    MessageKey,
    VendorKey,
)
from openslot.vendors.media import read_media

MAX_ANSWER = 256 * 1024
MEDIA_WITHIN = timedelta(seconds=30)
WITHIN = timedelta(seconds=15)
SHORTEST_SECRET = 16

A = TypeVar("A")
Now = Callable[[], datetime]


def check_secret(secret: str) -> None:
    encoded = secret.removeprefix(PREFIX)
    try:
        is_secret = encoded != secret and len(b64decode(encoded, validate=True)) >= SHORTEST_SECRET
    except ValueError:
        is_secret = False
    if not is_secret:
        raise TokenRefused(f"a secret is {PREFIX} and base64 of at least {SHORTEST_SECRET} bytes")


class GatewayAccount:
    """Implements the port `MessageAccount`; every request is one signed POST to the gateway's address."""

    def __init__(self, outbound: Outbound, account: MessageCredentials, *, now: Now) -> None:
        for token in account.tokens:
            check_secret(token)
        try:
            outbound.check_url(account.account)
        except OutboundRefused as refused:
            raise AccountRefused(f"the gateway's address is not allowed: {refused.reason}") from None
        self._outbound = outbound
        self._account = account
        self._now = now

    async def check(self, *, channel: ConnectionChannel, number: str) -> AccountCheck:
        answer = await self._ask("account.check", GatewayNumber(channel, number), GatewayAccountAnswer)
        return AccountCheck(account_name=answer.name, number=answer.number)

    async def send(self, message: OutboundMessage) -> SentMessage:
        return _to_sent(await self._ask("message.send", _write(message), GatewaySent))

    async def find_sent(
        self, message: OutboundMessage, *, since: datetime, known: Collection[str] = ()
    ) -> SentMessage | None:
        """Ask by our own id, so that neither the time nor other messages matter."""
        found = (await self._ask("message.find", MessageKey(message.id), GatewayFound)).message
        return _to_sent(found) if found else None

    async def get_status(self, message_id: str) -> SentMessage:
        return _to_sent(await self._ask("message.get", VendorKey(message_id), GatewaySent))

    async def fetch_media(self, ref: str, *, limits: MediaLimits) -> Media:
        response = await self._post("media.get", MediaKey(ref), within=MEDIA_WITHIN, at_most=limits.max_bytes)
        return read_media(response, limits)

    async def delete_message(self, message_id: str) -> None:
        await self._delete("message.delete", VendorKey(message_id))

    async def delete_media(self, ref: str) -> None:
        await self._delete("media.delete", MediaKey(ref))

    async def close(self) -> None:
        """Close nothing: each request has a connection of its own."""

    async def _delete(self, type_: str, data: Struct) -> None:
        try:
            await self._post(type_, data)
        except MessageRefused as refused:
            if refused.reason is not RefusalReason.NOT_FOUND:
                raise

    async def _ask(self, type_: str, data: Struct, answer: type[A]) -> A:
        response = await self._post(type_, data)
        try:
            return msgspec.json.decode(response.body, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise MessagesUnavailable("the gateway's answer can't be read", may_have_arrived=True) from None

    async def _post(
        self, type_: str, data: Struct, *, within: timedelta = WITHIN, at_most: int = MAX_ANSWER
    ) -> OutboundResponse:
        body = msgspec.json.encode(GatewayRequest(type_, data))
        # Signed with the newest secret alone: the gateway accepts it before it is entered here.
        signed = signed_headers(new_id(), body, secrets=(self._account.token,), at=self._now())
        headers = {"Content-Type": "application/json", **signed}
        try:
            response = await self._outbound.send(
                "POST", self._account.account, headers=headers, body=body, within=within, at_most=at_most
            )
        except OutboundFailed as fault:
            raise MessagesUnavailable(
                f"the gateway can't be reached: {fault.kind}", may_have_arrived=fault.may_have_arrived
            ) from None
        except OutboundRefused as fault:
            raise MessagesUnavailable(
                f"the gateway's address is not allowed: {fault.reason}", may_have_arrived=False
            ) from None
        if not 200 <= response.status < 300:
            raise _describe(response, now=self._now())
        return response


class Gateway:
    """Implements the port `MessageProvider`: an account is the address of a gateway, its token the secret."""

    name = ProviderName.GATEWAY

    def __init__(self, now: Now = lambda: datetime.now(UTC)) -> None:
        self._now = now

    def open(self, outbound: Outbound, account: MessageCredentials) -> GatewayAccount:
        return GatewayAccount(outbound, account, now=self._now)


def _write(message: OutboundMessage) -> GatewayMessage:
    seconds = None if message.validity is None else message.validity // timedelta(seconds=1)
    if seconds is not None and seconds < 1:
        raise MessageRefused("the message would arrive too late", reason=RefusalReason.OTHER)
    template = message.template
    return GatewayMessage(
        message_id=message.id,
        channel=message.channel,
        sender=message.sender,
        recipient=message.recipient,
        body=message.body,
        template=None if template is None else GatewayTemplate(template.id, dict(template.variables)),
        valid_seconds=seconds,
    )


def _to_sent(sent: GatewaySent) -> SentMessage:
    return SentMessage(id=sent.id, status=sent.status, code=sent.code, reason=sent.reason)


def _describe(response: OutboundResponse, *, now: datetime) -> MessageFault:
    """Turn an answer that is no success into a fault."""
    status = response.status
    if status in {409, 429}:
        return MessagesBusy(read_retry_after(response.headers.get("retry-after"), now=now))
    if status in {401, 403}:
        return TokenRefused("the gateway does not accept the signature")
    if not 400 <= status < 500 or status == 408:
        return MessagesUnavailable(f"the gateway answered {status}", may_have_arrived=True)
    try:
        said = msgspec.json.decode(response.body, type=GatewayFaultAnswer).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return MessageRefused(f"the gateway answered {status}", reason=_by_status(status))
    known = said.reason in set(RefusalReason)
    reason = RefusalReason(said.reason) if known else _by_status(status)
    return MessageRefused(f"the gateway refuses: {reason}", reason=reason, code=said.code)


def _by_status(status: int) -> RefusalReason:
    return RefusalReason.NOT_FOUND if status == 404 else RefusalReason.OTHER
