"""Mails about an account itself: the link to a new password, and the notice that it was changed."""

from uuid import UUID

from openslot.access import resets
from openslot.access.resets import NoReset, Reset, ResetRequested
from openslot.accounts import operations as accounts
from openslot.accounts.errors import UserNotFound
from openslot.accounts.events import UserPasswordChanged
from openslot.core.actor import SYSTEM
from openslot.core.events import Effect, Outcome
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail.deliveries import deliver, leave_unsent
from openslot.integrations.mail.models import Brand, Fact, Letter, Link, MailKind, Recipient, RecipientRole
from openslot.integrations.mail.moments import say_short
from openslot.integrations.mail.operations import DEFAULT_COLOUR, Draft, choose_locale
from openslot.integrations.mail.plain import one_line

PRODUCT = Brand(name="Openslot", colour=DEFAULT_COLOUR)
TELL_CHANGE = "mail.password_changed"
FORGOT = "/password/forgot"


async def send_reset(work: Work, effect: Effect) -> Outcome:
    """Send the link to a new password, if the address has an account that may have one."""
    if work.now - effect.created_at >= resets.RESET_LASTS:
        return await leave_unsent(work, effect, "the link has expired")
    async with work.runtime.transaction(SYSTEM) as begun:
        reset = await resets.begin_reset(begun, effect.id, effect.plan(ResetRequested))
    if isinstance(reset, NoReset):
        return await leave_unsent(work, effect, reset.reason)
    user = reset.user
    letter = _write_reset(reset) if reset.managed_by is None else _write_managed(reset.managed_by)
    draft = write_account_mail(effect, letter, to_account(user.email, user.name, user.locale), host_id=user.id)
    return await deliver(work, effect, draft, SYSTEM)


async def tell_password_changed(work: Work, effect: Effect) -> Outcome:
    """Notify the owner of an account that its password was changed."""
    event = effect.event(UserPasswordChanged)
    try:
        user = await accounts.get_user(work, event.user_id)
    except UserNotFound:
        return await leave_unsent(work, effect, "the account is deleted")
    when = say_short(effect.event_at, user.zone, choose_locale(user.locale))
    letter = Letter(
        subject=Text("Your password was changed"),
        heading=Text("Your password was changed"),
        paragraphs=(
            Text("All devices were signed out, except the one where you changed it. API keys keep working.")
            if not event.by_link
            else Text("It was changed by the link in our email. All devices were signed out. API keys keep working."),
            Text("If you did not change it, choose a new password now and check your API keys."),
        ),
        facts=(Fact(label=Text("Account"), lines=(event.email,)), Fact(label=Text("When"), lines=(when,))),
        button=Link(label=Text("I did not change it"), url=f"{work.runtime.settings.public_url}{FORGOT}"),
        footer=(Text("You received this email because the password of your account was changed."),),
    )
    # To the address that the account had then: an attacker may have changed the address too.
    to = to_account(event.email, user.name, user.locale)
    draft = write_account_mail(effect, letter, to, host_id=user.id)
    return await deliver(work, effect, draft, effect.actor)


def write_account_mail(
    effect: Effect, letter: Letter, to: Recipient, *, host_id: UUID | None, is_public: bool = False
) -> Draft:
    """Write a mail in the product's own colours."""
    return Draft(
        id=effect.id,
        kind=MailKind.NOTICE,
        letter=letter,
        recipient=to,
        brand=PRODUCT,
        locale=choose_locale(to.locale),
        host_id=host_id,
        is_public=is_public,
    )


def to_account(email: str, name: str, locale: str) -> Recipient:
    """Address a mail to the owner of an account."""
    return Recipient(role=RecipientRole.HOST, email=email, name=name, zone="UTC", locale=locale)


def _write_reset(reset: Reset) -> Letter:
    return Letter(
        subject=Text("Choose a new password"),
        heading=Text("Choose a new password"),
        paragraphs=(
            Text("Somebody asked for a new password for your account %(email)s.", email=reset.user.email),
            PluralText(
                "The link can be used once, within %(count)s hour.",
                "The link can be used once, within %(count)s hours.",
                count=int(resets.RESET_LASTS.total_seconds()) // 3600,
            ),
        ),
        button=Link(label=Text("Choose a new password"), url=reset.url),
        footer=(Text("If it was not you, you can ignore this email. Your password stays as it is."),),
    )


def _write_managed(organization: str) -> Letter:
    return Letter(
        subject=Text("Your organization manages your password"),
        heading=Text("Your organization manages your password"),
        paragraphs=(
            Text(
                "Somebody asked for a new password. %(organization)s manages your account, so you can't choose one.",
                organization=one_line(organization),
            ),
            Text("Ask your administrator for help."),
        ),
        footer=(Text("If it was not you, you can ignore this email. Your password stays as it is."),),
    )
