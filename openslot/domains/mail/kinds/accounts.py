"""Mails about an account itself: to sign up, to join, to choose a new password, to change its address, to delete it."""

from datetime import timedelta
from uuid import UUID

from openslot.domains.access import address_changes
from openslot.domains.access.events import AddressChangeRequested
from openslot.domains.access.models import AddressChange
from openslot.domains.access.resets.operations import RESET_LASTS, NoReset, Reset, ResetRequested, begin_reset
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.errors import InvalidInvitation
from openslot.domains.accounts.events import InvitationCreated, SignUpRequested, UserChanged, UserPasswordChanged
from openslot.domains.accounts.invitations.operations import (
    INVITATION_LASTS,
    get_invitation,
    invitation_token,
    invitation_url,
)
from openslot.domains.accounts.models import SignUp, User
from openslot.domains.accounts.operations import AddressKept, find_user_by_email, get_user, is_unclaimed
from openslot.domains.accounts.profiles.operations import find_organization_brand
from openslot.domains.accounts.store import find_user
from openslot.domains.bookings.words import format_short
from openslot.domains.mail import reasons
from openslot.domains.mail.models import Draft, Fact, Letter, Link, MailKind, Recipient, compose
from openslot.domains.mail.notices import SECURITY_FOOTER, to_owner, write_notice
from openslot.domains.mail.operations import deliver, leave_unsent
from openslot.domains.people import deletions
from openslot.domains.people.deletions import DeletionLinkRequested
from openslot.platform.core.actor import SYSTEM, ActorKind
from openslot.platform.core.events import Effect
from openslot.platform.core.text import fold_ascii, one_line
from openslot.platform.core.work import Outcome, Runtime, Skipped, Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import choose_locale

FORGOT = "/password/forgot"
SAME_PASSWORD = Text("If this wasn't you, you can ignore this email. Your password is unchanged.")
NOTHING_CHANGED = Text("If this wasn't you, you can ignore this email. Nothing was changed.")
BY_PROVIDER = (
    Text("Your organization manages your account and has changed its address. Sign in with the new one."),
    Text("If you did not expect this, ask the owner of your organization."),
)
BY_OWNER = (
    Text("Sign in with the new one from now on. All devices were signed out, except the one where you changed it."),
    Text("If this wasn't you, contact your administrator now."),
)


async def send_reset(work: Work, effect: Effect) -> Outcome:
    """Send the link to a new password, if the address has an account that may have one."""
    if work.now - effect.created_at >= RESET_LASTS:
        return await leave_unsent(work, effect, reasons.EXPIRED)
    async with work.runtime.transaction(SYSTEM) as begun:
        reset = await begin_reset(begun, effect.id, effect.plan(ResetRequested))
    if isinstance(reset, NoReset):
        return await leave_unsent(work, effect, reset.reason)
    letter = _write_reset(reset) if reset.managed_by is None else _write_managed(reset.managed_by)
    return await _send(work, effect, letter, to_owner(reset.user), host_id=reset.user.id)


async def tell_password_changed(work: Work, effect: Effect) -> Outcome:
    """Notify the owner of an account that its password was changed."""
    event = effect.event(UserPasswordChanged)
    user = await find_user(work.db, event.user_id, now=work.now)
    if user is None:
        return await leave_unsent(work, effect, reasons.DELETED)
    when = format_short(effect.event_at, user.zone, choose_locale(user.locale))
    letter = compose(
        Text("Your password was changed"),
        Text("All devices were signed out, except the one where you changed it. API keys keep working.")
        if not event.by_link
        else Text("It was reset with the link we emailed you. All devices were signed out. API keys keep working."),
        Text("If this wasn't you, choose a new password now and check your API keys."),
        facts=(_account(event.email), Fact(label=Text("When"), lines=(when,))),
        button=Link(label=Text("This wasn't me"), url=_forgot_url(work.runtime)),
        footer=Text("You received this email because the password of your account was changed."),
    )
    # To the address that the account had then: an attacker may have changed the address too.
    return await _send(work, effect, letter, to_owner(user, event.email), host_id=user.id)


async def tell_address_changed(work: Work, effect: Effect) -> Outcome:
    """Notify the former address of an account that it has another one."""
    event = effect.event(UserChanged)
    if fold_ascii(event.email) == fold_ascii(event.previous_email):
        return Skipped(reasons.SAME_ADDRESS)
    user = await find_user(work.db, event.user_id, now=work.now)
    if user is None:
        return await leave_unsent(work, effect, reasons.DELETED)
    letter = compose(
        Text("The email address of your account was changed"),
        *BY_OWNER if effect.actor.kind is ActorKind.SESSION else BY_PROVIDER,
        facts=(Fact(label=Text("Former address"), lines=(event.previous_email,)), _new_address(event.email)),
        footer=SECURITY_FOOTER,
    )
    return await _send(work, effect, letter, to_owner(user, event.previous_email), host_id=user.id)


async def tell_address_kept(work: Work, effect: Effect) -> Outcome:
    """Notify an owner that the provider has another address, and that the account keeps the current one."""
    kept = effect.plan(AddressKept)
    user = await find_user(work.db, kept.user_id, now=work.now)
    if user is None:
        return await leave_unsent(work, effect, reasons.DELETED)
    letter = compose(
        Text("Your account keeps its email address"),
        Text(
            "The identity provider of %(organization)s has another address for you. Anyone with access to "
            "an account's mailbox can sign in to that account, so owner and administrator accounts keep "
            "their address.",
            organization=one_line(kept.organization_name),
        ),
        Text("If you did not expect this, check the provisioning tokens of your organization."),
        facts=(_account(user.email), Fact(label=Text("Address at the provider"), lines=(one_line(kept.email),))),
        footer=SECURITY_FOOTER,
    )
    return await _send(work, effect, letter, to_owner(user), host_id=user.id)


async def send_confirmation_link(work: Work, effect: Effect) -> Outcome:
    """Send the link to the new address, or tell its owner that it has an account already."""
    change = await address_changes.find_change(work, effect.event(AddressChangeRequested).change_id)
    if change is None:
        return await leave_unsent(work, effect, reasons.NOT_WAITING)
    owner = await find_user_by_email(work, change.email)
    user = await get_user(work, change.user_id)
    letter = _write_taken(owner) if owner else _write_confirmation(work.runtime, user, change)
    to = to_owner(owner) if owner else to_owner(user, change.email)
    # Not among the mails of the user who asked: which of the two was sent must stay unknown to them.
    return await _send(work, effect, letter, to, host_id=owner.id if owner else None, is_public=True)


async def tell_address_change_requested(work: Work, effect: Effect) -> Outcome:
    """Notify the current address which one is wanted, so that its owner can stop it."""
    change = await address_changes.find_change(work, effect.event(AddressChangeRequested).change_id)
    if change is None:
        return await leave_unsent(work, effect, reasons.NOT_WAITING)
    user = await get_user(work, change.user_id)
    letter = compose(
        Text("Someone wants to change the email address of your account"),
        Text("The address changes when the link that we have sent to the new one is used."),
        Text("If this wasn't you, choose a new password now. The link then stops working."),
        facts=(_account(user.email), _new_address(change.email)),
        button=Link(label=Text("Choose a new password"), url=_forgot_url(work.runtime)),
        footer=SECURITY_FOOTER,
    )
    return await _send(work, effect, letter, to_owner(user), host_id=user.id)


async def send_deletion_link(work: Work, effect: Effect) -> Outcome:
    """Send the link with which the owner of an account without a password deletes it."""
    expires_at = effect.created_at + deletions.LINK_LASTS
    if work.now >= expires_at:
        return await leave_unsent(work, effect, reasons.EXPIRED)
    user = await find_user(work.db, effect.plan(DeletionLinkRequested).user_id, now=work.now)
    if user is None or user.disabled_at is not None:
        return await leave_unsent(work, effect, reasons.CLOSED if user else reasons.DELETED)
    letter = compose(
        Text("Confirm that you want to delete your account"),
        Text("Someone who is signed in to your account %(email)s wants to delete it.", email=user.email),
        Text("The link works for an hour. It opens a page where you confirm the deletion. You need to be signed in."),
        button=Link(
            label=Text("Delete my account"), url=deletions.write_link(work.runtime, user, expires_at=expires_at)
        ),
        footer=Text("If this wasn't you, don't use the link, and sign out all other devices in your settings."),
    )
    return await _send(work, effect, letter, to_owner(user), host_id=user.id)


async def send_sign_up(work: Work, effect: Effect) -> Outcome:
    """Send the link, or tell the owner of an existing account that there is one."""
    sign_up = await sign_ups.find_sign_up(work, effect.event(SignUpRequested).sign_up_id)
    if sign_up is None:
        return await leave_unsent(work, effect, reasons.SIGN_UP_OVER)
    if await sign_ups.has_enough_mail(work, sign_up):
        return await leave_unsent(work, effect, reasons.ENOUGH_LINKS)
    user = await find_user_by_email(work, sign_up.email)
    if user is not None and await is_unclaimed(work, user):
        # The link gives them the account that a provider has opened with their address.
        user = None
    letter = _write_existing(work.runtime, user) if user else _write_sign_up(work.runtime, sign_up)
    return await _send(
        work, effect, letter, to_owner(user or sign_up), host_id=user.id if user else None, is_public=True
    )


async def send_invitation(work: Work, effect: Effect) -> Outcome:
    """Send the link of an invitation, in the organization's colors, while it is valid."""
    event = effect.event(InvitationCreated)
    try:
        found = await get_invitation(work, invitation_token(work.runtime, event.invitation_id))
    except InvalidInvitation:
        return await leave_unsent(work, effect, reasons.INVITATION_OVER)
    user, organization = found.user, one_line(event.organization_name)
    draft = Draft(
        id=effect.id,
        kind=MailKind.INVITATION,
        letter=_write_invitation(event, invitation_url(work.runtime, event.invitation_id)),
        recipient=to_owner(user),
        brand=await find_organization_brand(work, event.organization_id, name=organization),
        locale=choose_locale(user.locale),
        host_id=user.id,
    )
    return await deliver(work, effect, draft, effect.actor)


async def _send(
    work: Work, effect: Effect, letter: Letter, to: Recipient, *, host_id: UUID | None, is_public: bool = False
) -> Outcome:
    draft = write_notice(effect, letter, to, host_id=host_id, is_public=is_public, is_security=True)
    return await deliver(work, effect, draft, effect.actor if effect.cause else SYSTEM)


def _forgot_url(runtime: Runtime) -> str:
    return f"{runtime.settings.public_url}{FORGOT}"


def _account(email: str) -> Fact:
    return Fact(label=Text("Account"), lines=(email,))


def _new_address(email: str) -> Fact:
    return Fact(label=Text("New address"), lines=(email,))


def _only_once(lasts: timedelta) -> Text:
    return PluralText(
        "The link can be used once, within %(count)s hour.",
        "The link can be used once, within %(count)s hours.",
        count=int(lasts.total_seconds()) // 3600,
    )


def _write_reset(reset: Reset) -> Letter:
    return compose(
        Text("Choose a new password"),
        Text("Someone requested a new password for your account %(email)s.", email=reset.user.email),
        _only_once(RESET_LASTS),
        button=Link(label=Text("Choose a new password"), url=reset.url),
        footer=SAME_PASSWORD,
    )


def _write_managed(organization: str) -> Letter:
    return compose(
        Text("Your organization manages your password"),
        Text(
            "Someone requested a new password. %(organization)s manages your account, so you can't choose one.",
            organization=one_line(organization),
        ),
        Text("Ask your administrator for help."),
        footer=SAME_PASSWORD,
    )


def _write_confirmation(runtime: Runtime, user: User, change: AddressChange) -> Letter:
    return compose(
        Text("Confirm your new email address"),
        Text("You want to use this address for your Openslot account. You need to be signed in to confirm it."),
        _only_once(address_changes.LASTS),
        facts=(_account(user.email), _new_address(change.email)),
        button=Link(label=Text("Confirm the address"), url=address_changes.change_url(runtime, change.id)),
        footer=NOTHING_CHANGED,
    )


def _write_taken(owner: User) -> Letter:
    return compose(
        Text("Your address already has an account"),
        Text("Someone wants to use your email address for another account. That is not possible."),
        Text("If this was you, delete one of the accounts first, or give it another address."),
        facts=(_account(owner.email),),
        footer=NOTHING_CHANGED,
    )


def _write_sign_up(runtime: Runtime, sign_up: SignUp) -> Letter:
    return compose(
        Text("Verify your email address"),
        Text("You signed up for Openslot. Verify your address to activate your account."),
        _only_once(sign_ups.LASTS),
        facts=(Fact(label=Text("Email address"), lines=(sign_up.email,)),),
        button=Link(label=Text("Activate your account"), url=sign_ups.sign_up_url(runtime, sign_up.id)),
        footer=Text("If you did not sign up, ignore this email and do not use the link."),
    )


def _write_existing(runtime: Runtime, user: User) -> Letter:
    return compose(
        Text("You already have an account"),
        Text("Someone signed up with your email address, which already has an account."),
        Text("Sign in with your password. If you have forgotten it, you can choose a new one."),
        facts=(_account(user.email),),
        button=Link(label=Text("Sign in"), url=f"{runtime.settings.public_url}/login"),
        links_label=Text("Forgot your password?"),
        links=(Link(label=Text("Choose a new password"), url=_forgot_url(runtime)),),
        footer=NOTHING_CHANGED,
    )


def _write_invitation(event: InvitationCreated, url: str) -> Letter:
    organization = one_line(event.organization_name)
    return compose(
        Text("You are invited to join %(organization)s", organization=organization),
        Text(
            "%(organization)s invites you to use Openslot as %(email)s.",
            organization=organization,
            email=event.email,
        ),
        PluralText(
            "The link can be used once, within %(count)s day.",
            "The link can be used once, within %(count)s days.",
            count=INVITATION_LASTS.days,
        ),
        heading=Text("Join %(organization)s", organization=organization),
        button=Link(label=Text("Accept the invitation"), url=url),
        footer=Text("If you did not expect this invitation, you can ignore this email."),
    )
