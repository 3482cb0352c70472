"""The mail with the link that proves who deletes an account without a password."""

from openslot.accounts import operations as accounts
from openslot.accounts.errors import UserNotFound
from openslot.core.actor import SYSTEM
from openslot.core.events import Effect, Outcome
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.mail.account_mails import to_account, write_account_mail
from openslot.integrations.mail.deliveries import deliver, leave_unsent
from openslot.integrations.mail.models import Letter, Link
from openslot.people import deletions
from openslot.people.deletions import DeletionLinkRequested


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
