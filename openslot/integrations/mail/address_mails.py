"""Mails to the owner of an account whose address has changed, or that an identity provider wants to change."""

from openslot.accounts import operations as accounts
from openslot.accounts.addresses import AddressKept
from openslot.accounts.errors import UserNotFound
from openslot.accounts.events import UserChanged
from openslot.core.actor import SYSTEM, ActorKind
from openslot.core.events import Effect, Outcome, Skipped
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.mail.account_mails import to_account, write_account_mail
from openslot.integrations.mail.deliveries import deliver, leave_unsent
from openslot.integrations.mail.models import Fact, Letter
from openslot.integrations.mail.plain import one_line
from openslot.integrations.mail.security_notices import SECURITY_FOOTER

TELL_ADDRESS = "mail.address_changed"
DELETED = "the account is deleted"
BY_PROVIDER = (
    Text("Your organization manages your account and has changed its address. Sign in with the new one."),
    Text("If you did not expect this, ask the owner of your organization."),
)
BY_OWNER = (
    Text("Sign in with the new one from now on. All devices were signed out, except the one where you changed it."),
    Text("If this wasn't you, contact your administrator now."),
)


async def tell_address_changed(work: Work, effect: Effect) -> Outcome:
    """Notify the former address of an account that it has another one."""
    event = effect.event(UserChanged)
    if event.email.lower() == event.previous_email.lower():
        return Skipped("the address is the same")
    try:
        user = await accounts.get_user(work, event.user_id)
    except UserNotFound:
        return await leave_unsent(work, effect, DELETED)
    letter = Letter(
        subject=Text("The email address of your account was changed"),
        heading=Text("The email address of your account was changed"),
        paragraphs=BY_OWNER if effect.actor.kind is ActorKind.SESSION else BY_PROVIDER,
        facts=(
            Fact(label=Text("Former address"), lines=(event.previous_email,)),
            Fact(label=Text("New address"), lines=(event.email,)),
        ),
        footer=(SECURITY_FOOTER,),
    )
    to = to_account(event.previous_email, user.name, user.locale)
    draft = write_account_mail(effect, letter, to, host_id=user.id)
    return await deliver(work, effect, draft, effect.actor)


async def tell_address_kept(work: Work, effect: Effect) -> Outcome:
    """Notify an owner that the provider has another address, and that the account keeps the current one."""
    kept = effect.plan(AddressKept)
    try:
        user = await accounts.get_user(work, kept.user_id)
    except UserNotFound:
        return await leave_unsent(work, effect, DELETED)
    letter = Letter(
        subject=Text("Your account keeps its email address"),
        heading=Text("Your account keeps its email address"),
        paragraphs=(
            Text(
                "The identity provider of %(organization)s has another address for you. Whoever reads the mail of an "
                "account can sign in to it, so the account of an owner or administrator keeps its address.",
                organization=one_line(kept.organization_name),
            ),
            Text("If you did not expect this, check the provisioning tokens of your organization."),
        ),
        facts=(
            Fact(label=Text("Account"), lines=(user.email,)),
            Fact(label=Text("Address at the provider"), lines=(one_line(kept.email),)),
        ),
        footer=(SECURITY_FOOTER,),
    )
    draft = write_account_mail(effect, letter, to_account(user.email, user.name, user.locale), host_id=user.id)
    return await deliver(work, effect, draft, SYSTEM)
