"""Pages: a host's numbers for messages and calls: connect one, test it, give it another token, disconnect it."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections import operations as connecting
from openslot.domains.messaging.connections.accounts import can_be_notified, notice_urls
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.connections.operations import CheckedNumber, NumberOwner, NumberWanted
from openslot.domains.messaging.host_numbers import list_gone, list_usable, use_number
from openslot.domains.messaging.models import ProviderName
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.countries import CountryNames, list_allowed, read_countries, write_countries
from openslot.platform.core.errors import Conflict
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Form, RateLimit, Response, WhenEmpty, get, post

HERE = "/settings/messages"
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


@get("/settings/messages")
async def show_numbers(work: Work, user: User, form: Form[NumberForm] = Form()) -> Response:
    own = await connecting.list_connections(work, user)
    usable, gone = await list_usable(work, user), await list_gone(work, user)
    shown = describe(work, own)
    return page("dashboard/numbers/list.html", user, form=form, usable=usable, gone=gone, here=HERE, **shown)


@post("/settings/messages", transaction="none", limit=TRIES, shows=show_numbers, at={Conflict: "number"}, names=NAMES)
async def connect_number(work: Work, user: User, form: Form[NumberForm]) -> Response:
    checked = await connecting.check_number(work, user, form.get().wanted)
    async with work.transaction():
        made = await connecting.connect(work, user, checked)
    return redirect(f"{HERE}/{made.id}?done={done_of(checked)}")


@get("/settings/messages/{connection_id}")
async def show_number(work: Work, user: User, connection_id: UUID, form: Form[Any] = Form()) -> Response:
    connection = await connecting.get_connection(work, user, connection_id)
    shown = describe_number(work, connection, form)
    return page("dashboard/numbers/number.html", user, form=form, here=HERE, **shown)


@post("/settings/messages/{connection_id}/use")
async def use_number_here(work: Work, user: User, connection_id: UUID) -> Response:
    await use_number(work, user, connection_id)
    return redirect(f"{HERE}?done=used")


@post(
    "/settings/messages/{connection_id}/token",
    transaction="none",
    limit=TRIES,
    shows=show_number,
    at={Conflict: "token"},
    names={"account": "token", "number": "token"},
)
async def replace_number_token(work: Work, user: User, connection_id: UUID, form: Form[NumberTokenForm]) -> Response:
    checked = await check_token(work, user, connection_id, form.get().token)
    async with work.transaction():
        await connecting.connect(work, user, checked)
    return redirect(f"{HERE}/{connection_id}?done=replaced")


@post(
    "/settings/messages/{connection_id}/test",
    transaction="none",
    limit=TESTS,
    shows=show_number,
    at={Conflict: "phone"},
)
async def send_test_message(work: Work, user: User, connection_id: UUID, form: Form[TestMessageForm]) -> Response:
    connection = await connecting.get_connection(work, user, connection_id)
    await connecting.send_test(work, connection, recipient=form.get().phone.strip(), name=user.name)
    return redirect(f"{HERE}/{connection_id}?done=tested")


@post("/settings/messages/{connection_id}/cancelling", shows=show_number, names=CANCELLING_NAMES)
async def allow_cancelling(work: Work, user: User, connection_id: UUID, form: Form[CancellingForm]) -> Response:
    """Choose whether people cancel a meeting by replying C to its reminder."""
    await connecting.allow_cancelling(work, user, connection_id, can_cancel=form.get().can_cancel)
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/settings/messages/{connection_id}/countries", shows=show_number)
async def save_countries(work: Work, user: User, connection_id: UUID, form: Form[CountriesForm]) -> Response:
    """Choose the countries that a number sends messages to."""
    await connecting.set_countries(work, user, connection_id, read_countries(form.get().countries))
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/settings/messages/{connection_id}/template", shows=show_number)
async def save_template(work: Work, user: User, connection_id: UUID, form: Form[TemplateForm]) -> Response:
    """Choose the template by which people are reminded on WhatsApp."""
    await connecting.set_template(work, user, connection_id, form.get().template.strip())
    return redirect(f"{HERE}/{connection_id}?done=saved")


@get("/settings/messages/{connection_id}/disconnect")
async def ask_to_disconnect_number(work: Work, user: User, connection_id: UUID) -> Response:
    connection = await connecting.get_connection(work, user, connection_id)
    return page("dashboard/numbers/disconnect.html", user, here=HERE, **describe_number(work, connection))


@post("/settings/messages/{connection_id}/disconnect")
async def disconnect_number(work: Work, user: User, connection_id: UUID) -> Response:
    await connecting.disconnect(work, user, connection_id)
    return redirect(f"{HERE}?done=disconnected")


async def check_token(work: Work, owner: NumberOwner, connection_id: UUID, token: str) -> CheckedNumber:
    """Ask the provider whether a connected number can be used with another token; begins no transaction."""
    known = await connecting.get_connection(work, owner, connection_id)
    wanted = NumberWanted(
        provider=known.provider,
        channel=known.channel,
        number=known.number,
        account=known.account,
        token=token.strip(),
    )
    return await connecting.check_number(work, owner, wanted)


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
