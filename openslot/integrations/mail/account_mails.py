"""Mails about an account itself: to sign up, to join, to choose a new password, to delete it."""

from uuid import UUID

from openslot.access import resets
from openslot.access.resets import NoReset, Reset, ResetRequested
from openslot.accounts import invitations, profiles, sign_ups
from openslot.accounts import operations as accounts
from openslot.accounts.errors import InvitationInvalid, UserNotFound
from openslot.accounts.events import InvitationCreated, SignUpRequested, UserPasswordChanged
from openslot.accounts.models import PRODUCT, SignUp
from openslot.core.actor import SYSTEM
from openslot.core.events import Effect
from openslot.core.work import Outcome, Runtime, Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail.meetings import format_short
from openslot.integrations.mail.message import one_line
from openslot.integrations.mail.models import Fact, Letter, Link, MailKind, Recipient, RecipientRole
from openslot.integrations.mail.operations import Draft, choose_locale, deliver, leave_unsent
from openslot.people import deletions
from openslot.people.deletions import DeletionLinkRequested

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
    when = format_short(effect.event_at, user.zone, choose_locale(user.locale))
    letter = Letter(
        subject=Text("Your password was changed"),
        heading=Text("Your password was changed"),
        paragraphs=(
            Text("All devices were signed out, except the one where you changed it. API keys keep working.")
            if not event.by_link
            else Text("It was reset with the link we emailed you. All devices were signed out. API keys keep working."),
            Text("If this wasn't you, choose a new password now and check your API keys."),
        ),
        facts=(Fact(label=Text("Account"), lines=(event.email,)), Fact(label=Text("When"), lines=(when,))),
        button=Link(label=Text("This wasn't me"), url=f"{work.runtime.settings.public_url}{FORGOT}"),
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
            Text("Someone requested a new password for your account %(email)s.", email=reset.user.email),
            PluralText(
                "The link can be used once, within %(count)s hour.",
                "The link can be used once, within %(count)s hours.",
                count=int(resets.RESET_LASTS.total_seconds()) // 3600,
            ),
        ),
        button=Link(label=Text("Choose a new password"), url=reset.url),
        footer=(Text("If this wasn't you, you can ignore this email. Your password is unchanged."),),
    )


def _write_managed(organization: str) -> Letter:
    return Letter(
        subject=Text("Your organization manages your password"),
        heading=Text("Your organization manages your password"),
        paragraphs=(
            Text(
                "Someone requested a new password. %(organization)s manages your account, so you can't choose one.",
                organization=one_line(organization),
            ),
            Text("Ask your administrator for help."),
        ),
        footer=(Text("If this wasn't you, you can ignore this email. Your password is unchanged."),),
    )


async def send_deletion_link(work: Work, effect: Effect) -> Outcome:
    """Send the link with which the owner of an account without a password deletes it."""
    expires_at = effect.created_at + deletions.LINK_LASTS
    if work.now >= expires_at:
        return await leave_unsent(work, effect, "the link has expired")
    try:
        user = await accounts.get_user(work, effect.plan(DeletionLinkRequested).user_id)
    except UserNotFound:
        return await leave_unsent(work, effect, "the account is deleted")
    if user.disabled_at is not None:
        return await leave_unsent(work, effect, "the account is closed")
    letter = Letter(
        subject=Text("Confirm that you want to delete your account"),
        heading=Text("Confirm that you want to delete your account"),
        paragraphs=(
            Text("Someone who is signed in to your account %(email)s wants to delete it.", email=user.email),
            Text(
                "The link works for an hour. It opens a page where you confirm the deletion. You need to be signed in."
            ),
        ),
        button=Link(
            label=Text("Delete my account"), url=deletions.write_link(work.runtime, user, expires_at=expires_at)
        ),
        footer=(Text("If this wasn't you, don't use the link, and sign out all other devices in your settings."),),
    )
    draft = write_account_mail(effect, letter, to_account(user.email, user.name, user.locale), host_id=user.id)
    return await deliver(work, effect, draft, SYSTEM)


SIGN_UP = "mail.sign_up"


async def send_sign_up(work: Work, effect: Effect) -> Outcome:
    """Send the link, or tell the owner of an existing account that there is one."""
    sign_up = await sign_ups.find_sign_up(work, effect.event(SignUpRequested).sign_up_id)
    if sign_up is None:
        return await leave_unsent(work, effect, "the sign-up is no longer valid")
    if await sign_ups.has_enough_mail(work, sign_up):
        return await leave_unsent(work, effect, "the address was sent as many links as allowed")
    user = await accounts.find_user_by_email(work, sign_up.email)
    if user is not None:
        to, letter = to_account(user.email, user.name, user.locale), _write_existing(work.runtime, user.email)
    else:
        to, letter = to_account(sign_up.email, sign_up.name, sign_up.locale), _write_link(work.runtime, sign_up)
    draft = write_account_mail(effect, letter, to, host_id=user.id if user else None, is_public=True)
    return await deliver(work, effect, draft, effect.actor)


def _write_link(runtime: Runtime, sign_up: SignUp) -> Letter:
    return Letter(
        subject=Text("Verify your email address"),
        heading=Text("Verify your email address"),
        paragraphs=(
            Text("You signed up for Openslot. Verify your address to activate your account."),
            PluralText(
                "The link can be used once, within %(count)s hour.",
                "The link can be used once, within %(count)s hours.",
                count=int(sign_ups.LASTS.total_seconds()) // 3600,
            ),
        ),
        facts=(Fact(label=Text("Email address"), lines=(sign_up.email,)),),
        button=Link(label=Text("Activate your account"), url=sign_ups.sign_up_url(runtime, sign_up.id)),
        footer=(Text("If you did not sign up, ignore this email and do not use the link."),),
    )


def _write_existing(runtime: Runtime, email: str) -> Letter:
    return Letter(
        subject=Text("You already have an account"),
        heading=Text("You already have an account"),
        paragraphs=(
            Text("Someone signed up with your email address, which already has an account."),
            Text("Sign in with your password. If you have forgotten it, you can choose a new one."),
        ),
        facts=(Fact(label=Text("Account"), lines=(email,)),),
        button=Link(label=Text("Sign in"), url=f"{runtime.settings.public_url}/login"),
        links_label=Text("Forgot your password?"),
        links=(Link(label=Text("Choose a new password"), url=f"{runtime.settings.public_url}{FORGOT}"),),
        footer=(Text("If this wasn't you, you can ignore this email. Nothing was changed."),),
    )


INVITE = "mail.invite"


async def invite(work: Work, effect: Effect) -> Outcome:
    """Send the link of an invitation, in the organization's colours, while it is valid."""
    event = effect.event(InvitationCreated)
    try:
        found = await invitations.get_invitation(work, invitations.invitation_token(work.runtime, event.invitation_id))
    except InvitationInvalid:
        return await leave_unsent(work, effect, "the invitation is no longer valid")
    user = found.user
    draft = Draft(
        id=effect.id,
        kind=MailKind.INVITATION,
        letter=write_invitation(event, invitations.invitation_url(work.runtime, event.invitation_id)),
        recipient=Recipient(
            role=RecipientRole.HOST, email=user.email, name=user.name, zone=user.zone, locale=user.locale
        ),
        brand=await profiles.find_organization_brand(
            work, event.organization_id, name=one_line(event.organization_name)
        ),
        locale=choose_locale(user.locale),
        host_id=user.id,
    )
    return await deliver(work, effect, draft, effect.actor)


def write_invitation(event: InvitationCreated, url: str) -> Letter:
    organization = one_line(event.organization_name)
    return Letter(
        subject=Text("You are invited to join %(organization)s", organization=organization),
        heading=Text("Join %(organization)s", organization=organization),
        paragraphs=(
            Text(
                "%(organization)s invites you to use Openslot as %(email)s.",
                organization=organization,
                email=event.email,
            ),
            PluralText(
                "The link can be used once, within %(count)s day.",
                "The link can be used once, within %(count)s days.",
                count=invitations.LASTS.days,
            ),
        ),
        button=Link(label=Text("Accept the invitation"), url=url),
        footer=(Text("If you did not expect this invitation, you can ignore this email."),),
    )
