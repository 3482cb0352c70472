"""The forms of webhook pages."""

from typing import Literal

from msgspec import Struct

from openslot.core.outbound import OutboundReason, OutboundRefused
from openslot.i18n import Text
from openslot.routing import Form
from openslot.webhooks.models import Endpoint

MISSING = Text("Enter the address that receives the events")
CHOOSE = Text("Choose at least one event")
SECURE = Text("must begin with https://")
PRIVATE = Text("must lead to a public address")
URL_FAULTS = {
    OutboundReason.TOO_LONG: Text("must have at most 2048 characters"),
    OutboundReason.CHARACTERS: Text("must be an address of printable ASCII characters, without spaces"),
    OutboundReason.SCHEME: SECURE,
    OutboundReason.INSECURE: SECURE,
    OutboundReason.USERINFO: Text("must not contain a user name or password"),
    OutboundReason.HOST: Text("must have a full domain name"),
    OutboundReason.PORT: Text("must have a port that is open to outgoing requests, such as 443"),
    OutboundReason.NUMBER: Text("must have an IPv4 address of four decimal numbers"),
    OutboundReason.NAME: PRIVATE,
    OutboundReason.ADDRESS: PRIVATE,
}


class EndpointForm(Struct, frozen=True, kw_only=True):
    """An endpoint to add, or what to change about one."""

    url: str = ""
    which: Literal["all", "chosen"] = "all"
    events: list[str] = []
    description: str = ""

    @property
    def wanted_events(self) -> tuple[str, ...]:
        """The events to send; none: all."""
        return tuple(self.events) if self.which == "chosen" else ()


def check_endpoint_form(form: Form[EndpointForm]) -> Form[EndpointForm]:
    """Ask for an address, and for an event where only chosen ones are to be sent."""
    sent = form.sent
    if sent is None:
        return form
    faults = {} if sent.url.strip() else {"url": MISSING}
    if sent.which == "chosen" and not sent.events:
        faults["events"] = CHOOSE
    return form.with_faults(faults)


def name_url_fault(refusal: OutboundRefused) -> dict[str, str]:
    """Say at the URL's field why it is refused."""
    return {"url": URL_FAULTS.get(refusal.reason, refusal.sentence)}


def begin_form(endpoint: Endpoint) -> Form[EndpointForm]:
    """Fill the form with an endpoint as it is."""
    return Form(
        values={
            "url": endpoint.url,
            "which": "chosen" if endpoint.events else "all",
            "description": endpoint.description or "",
        },
        sent=EndpointForm(url=endpoint.url, events=list(endpoint.events)),
    )
