"""Invitations: the mail with the link to take over an account or to join an organization."""

from openslot.accounts import brand_store, invitations
from openslot.accounts.errors import InvitationInvalid
from openslot.accounts.events import InvitationCreated
from openslot.core.events import Effect, Outcome
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail.deliveries import deliver, leave_unsent
from openslot.integrations.mail.models import Brand, Letter, Link, MailKind, Recipient, RecipientRole
from openslot.integrations.mail.operations import DEFAULT_COLOUR, Draft, choose_locale
from openslot.integrations.mail.plain import one_line

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
        brand=await _find_brand(work, event),
        locale=choose_locale(user.locale),
        host_id=user.id,
    )
    return await deliver(work, effect, draft, effect.actor)


def write_invitation(event: InvitationCreated, url: str) -> Letter:
    """Write what an invitation says."""
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


async def _find_brand(work: Work, event: InvitationCreated) -> Brand:
    chosen = await brand_store.find_brand(work.db, owner="organization_id", owner_id=event.organization_id)
    return Brand(
        name=(chosen.name if chosen else None) or one_line(event.organization_name),
        colour=(chosen.colour if chosen else None) or DEFAULT_COLOUR,
        logo_url=chosen.logo_url if chosen else None,
    )
