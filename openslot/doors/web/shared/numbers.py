"""Numbers for messages, of a host or of an organization."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.messaging.connections.accounts import can_be_notified, notice_urls
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.connections.operations import (
    CheckedNumber,
    NumberOwner,
    NumberWanted,
    check_number,
    get_number_connection,
)
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.countries import CountryNames, list_allowed, write_countries
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Form, RateLimit, WhenEmpty

# Each try sends a token to the provider, and nobody is to try tokens through this installation.
TRIES = RateLimit("message-tokens", 30)
# Each costs the owner of the number money.
TESTS = RateLimit("test-messages", 10)
NOTICES = {
    "connected": Text("The number is connected."),
    "replaced": Text("The new token is used from now on."),
    "tested": Text("The test message was sent."),
    "saved": Text("Saved."),
    "used": Text("You write from this number from now on."),
    "disconnected": Text("The number is disconnected, and its token is deleted here."),
}
CHANNELS = {
    ConnectionChannel.SMS: "SMS",
    ConnectionChannel.WHATSAPP: "WhatsApp",
    ConnectionChannel.VOICE: Text("Calls"),
}
PROVIDERS = {ProviderName.TWILIO: Text("Twilio"), ProviderName.GATEWAY: Text("Your own gateway")}
ABOUT = {
    "messages": Text("When a message comes in"),
    "status": Text("Status callback"),
    "calls": Text("Call status changes"),
    "all": Text("Address for notices"),
}
COUNTRIES_HINT = Text("For example DE, AT, CH; all for every country. Empty: the country of the number (%(country)s).")
NAMES = {"account": "provider_account"}
CANCELLING_NAMES = {"canCancel": "can_cancel"}
Token = Annotated[str, Meta(pattern=LINE, max_length=300), WhenEmpty(Text("Paste the token"))]


class NumberForm(Struct, frozen=True, kw_only=True):
    provider: ProviderName = ProviderName.TWILIO
    channel: ConnectionChannel = ConnectionChannel.SMS
    provider_account: Annotated[str, Meta(pattern=LINE, max_length=1000), WhenEmpty(Text("Enter the account"))]
    number: Annotated[str, Meta(pattern=LINE, max_length=40), WhenEmpty(Text("Enter the number"))]
    token: Token

    @property
    def wanted(self) -> NumberWanted:
        return NumberWanted(
            provider=self.provider,
            channel=self.channel,
            number=self.number.strip(),
            account=self.provider_account.strip(),
            token=self.token.strip(),
        )


class NumberTokenForm(Struct, frozen=True, kw_only=True):
    token: Token


class CancellingForm(Struct, frozen=True, kw_only=True):
    can_cancel: bool


class TestMessageForm(Struct, frozen=True, kw_only=True):
    phone: Annotated[str, Meta(pattern=LINE, max_length=40), WhenEmpty(Text("Enter a phone number"))]


class CountriesForm(Struct, frozen=True, kw_only=True):
    countries: Annotated[str, Meta(pattern=LINE, max_length=1000)] = ""


class TemplateForm(Struct, frozen=True, kw_only=True):
    template: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


async def check_token(work: Work, owner: NumberOwner, connection_id: UUID, token: str) -> CheckedNumber:
    """Ask the provider whether a connected number can be used with another token; begins no transaction."""
    known = await get_number_connection(work, owner, connection_id)
    wanted = NumberWanted(
        provider=known.provider,
        channel=known.channel,
        number=known.number,
        account=known.account,
        token=token.strip(),
    )
    return await check_number(work, owner, wanted)


def describe(work: Work, numbers: list[MessagingConnection]) -> dict[str, Any]:
    """Say what the lists of a host and of an organization show of their numbers, and of how to connect one."""
    return {
        "numbers": numbers,
        "notices": NOTICES,
        "channels": CHANNELS,
        "providers": PROVIDERS,
        "can_be_notified": can_be_notified(work.runtime.settings),
    }


def describe_number(work: Work, connection: MessagingConnection, form: Form[Any] = Form()) -> dict[str, Any]:
    """Say what the pages of a host and of an organization show of one number."""
    urls = notice_urls(work.runtime.settings, connection)
    return {
        "connection": connection,
        "notices": NOTICES,
        "channel": CHANNELS[connection.channel],
        "provider": PROVIDERS[connection.provider],
        "urls": [(about, ABOUT[about], url) for about, url in urls.items()],
        "can_be_notified": can_be_notified(work.runtime.settings),
        "fault": recall(connection.last_error) if connection.last_error else None,
        "is_for_messages": connection.channel.messages is not None,
        "countries_form": form.of(CountriesForm).begin({"countries": write_countries(connection.countries)}),
        "countries_hint": COUNTRIES_HINT.fill(country=CountryNames(list_allowed(connection.number, ()))),
        "template_form": form.of(TemplateForm).begin({"template": connection.template or ""}),
    }


def done_of(checked: CheckedNumber) -> str:
    return "replaced" if checked.is_same else "connected"
