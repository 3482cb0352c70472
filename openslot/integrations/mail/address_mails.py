"""Mails about a user's address: one that was asked for, one that has changed, one that a provider wants."""

from openslot.access import address_changes
from openslot.access.events import AddressChangeRequested
from openslot.access.models import AddressChange
from openslot.accounts import operations as accounts
from openslot.accounts.errors import UserNotFound
from openslot.accounts.events import UserChanged
from openslot.accounts.models import User
from openslot.accounts.operations import AddressKept
from openslot.core.actor import SYSTEM, ActorKind
from openslot.core.events import Effect
from openslot.core.work import Outcome, Runtime, Skipped, Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail.account_mails import FORGOT, to_account, write_account_mail
from openslot.integrations.mail.message import one_line
from openslot.integrations.mail.models import Fact, Letter, Link
from openslot.integrations.mail.notices import SECURITY_FOOTER
from openslot.integrations.mail.operations import deliver, leave_unsent

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
                "The identity provider of %(organization)s has another address for you. Anyone with access to "
                "an account's mailbox can sign in to that account, so owner and administrator accounts keep "
                "their address.",
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


CONFIRM_ADDRESS, TELL_REQUEST = "mail.confirm_address", "mail.address_change_requested"
NOT_WAITING = "the change was confirmed, withdrawn or replaced by another"


async def send_confirmation_link(work: Work, effect: Effect) -> Outcome:
    """Send the link to the new address, or tell its owner that it has an account already."""
    change = await address_changes.find_change(work, effect.event(AddressChangeRequested).change_id)
    if change is None:
        return await leave_unsent(work, effect, NOT_WAITING)
    owner = await accounts.find_user_by_email(work, change.email)
    user = await accounts.get_user(work, change.user_id)
    if owner is not None:
        to, letter = to_account(owner.email, owner.name, owner.locale), _write_taken(owner)
    else:
        to, letter = to_account(change.email, user.name, user.locale), _write_link(work.runtime, user, change)
    # Not among the mails of the user who asked: which of the two was sent must stay unknown to them.
    draft = write_account_mail(effect, letter, to, host_id=owner.id if owner else None, is_public=True)
    return await deliver(work, effect, draft, effect.actor)


async def tell_address_change_requested(work: Work, effect: Effect) -> Outcome:
    """Notify the current address which one is wanted, so that its owner can stop it."""
    change = await address_changes.find_change(work, effect.event(AddressChangeRequested).change_id)
    if change is None:
        return await leave_unsent(work, effect, NOT_WAITING)
    user = await accounts.get_user(work, change.user_id)
    letter = Letter(
        subject=Text("Someone wants to change the email address of your account"),
        heading=Text("Someone wants to change the email address of your account"),
        paragraphs=(
            Text("The address changes when the link that we have sent to the new one is used."),
            Text("If this wasn't you, choose a new password now. The link then stops working."),
        ),
        facts=(
            Fact(label=Text("Account"), lines=(user.email,)),
            Fact(label=Text("New address"), lines=(change.email,)),
        ),
        button=Link(label=Text("Choose a new password"), url=f"{work.runtime.settings.public_url}{FORGOT}"),
        footer=(SECURITY_FOOTER,),
    )
    draft = write_account_mail(effect, letter, to_account(user.email, user.name, user.locale), host_id=user.id)
    return await deliver(work, effect, draft, effect.actor)


def _write_link(runtime: Runtime, user: User, change: AddressChange) -> Letter:
    return Letter(
        subject=Text("Confirm your new email address"),
        heading=Text("Confirm your new email address"),
        paragraphs=(
            Text("You want to use this address for your Openslot account. You need to be signed in to confirm it."),
            PluralText(
                "The link can be used once, within %(count)s hour.",
                "The link can be used once, within %(count)s hours.",
                count=int(address_changes.LASTS.total_seconds()) // 3600,
            ),
        ),
        facts=(
            Fact(label=Text("Account"), lines=(user.email,)),
            Fact(label=Text("New address"), lines=(change.email,)),
        ),
        button=Link(label=Text("Confirm the address"), url=address_changes.change_url(runtime, change.id)),
        footer=(Text("If this wasn't you, you can ignore this email. Nothing was changed."),),
    )


def _write_taken(owner: User) -> Letter:
    return Letter(
        subject=Text("Your address already has an account"),
        heading=Text("Your address already has an account"),
        paragraphs=(
            Text("Someone wants to use your email address for another account. That is not possible."),
            Text("If this was you, delete one of the accounts first, or give it another address."),
        ),
        facts=(Fact(label=Text("Account"), lines=(owner.email,)),),
        footer=(Text("If this wasn't you, you can ignore this email. Nothing was changed."),),
    )
