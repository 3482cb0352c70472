"""What someone is told about their account, by one mail a notice: one entry each."""

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from openslot.core.events import Effect, Event
from openslot.i18n import Text
from openslot.integrations.mail.meetings import MailHost
from openslot.integrations.mail.models import Fact, Letter, MailKind, Recipient, RecipientRole
from openslot.integrations.mail.operations import Draft, choose_locale
from openslot.integrations.mail.plain import one_line
from openslot.webhooks.events import WebhookDisabled


class Notice(Struct, frozen=True, kw_only=True):
    """Which event a host is told of, who that is, and what the letter says."""

    event: type[Event]
    host_of: Callable[[Effect], UUID]
    write: Callable[[Effect], Letter]


def _write_webhook_disabled(effect: Effect) -> Letter:
    event = effect.event(WebhookDisabled)
    return Letter(
        subject=Text("A webhook endpoint was switched off"),
        heading=Text("A webhook endpoint was switched off"),
        paragraphs=(
            Text("Openslot could not deliver events to this endpoint and has stopped sending them."),
            Text("Your events are kept. When the endpoint works again, resume it and replay the events it missed."),
        ),
        facts=(
            Fact(label=Text("Address"), lines=(one_line(event.url),)),
            Fact(label=Text("Reason"), lines=(one_line(event.reason),)),
        ),
        footer=(Text("You received this email because the endpoint belongs to your account."),),
    )


def write_notice(effect: Effect, letter: Letter, host: MailHost, host_id: UUID) -> Draft:
    """Write a notice to the person that it is about."""
    return Draft(
        id=effect.id,
        kind=MailKind.NOTICE,
        letter=letter,
        recipient=Recipient(
            role=RecipientRole.HOST, email=host.email, name=host.name, zone=host.zone, locale=host.locale
        ),
        brand=host.brand,
        locale=choose_locale(host.locale),
        host_id=host_id,
    )


NOTICES = {
    notice.event.type: notice
    for notice in (
        Notice(
            event=WebhookDisabled,
            host_of=lambda effect: effect.event(WebhookDisabled).owner_id,
            write=_write_webhook_disabled,
        ),
    )
}
