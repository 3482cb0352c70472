"""When an organization was deleted, those who looked after it are told by mail."""

from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import Organization
from openslot.core.actor import SYSTEM
from openslot.core.events import Effect, Outcome, Reaction, Skipped
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.mail import operations as mail
from openslot.integrations.mail.deliveries import deliver, mail_server
from openslot.integrations.mail.models import Letter
from openslot.integrations.mail.notices import write_notice
from openslot.integrations.mail.plain import one_line
from openslot.integrations.mail.rules import DELAYS

TELL_DELETED = "organization.tell_deleted"


class DeletionNotice(Struct, frozen=True, kw_only=True):
    """Who is told which organization was deleted, and by whom."""

    organization_name: str
    by: str | None
    """None: someone who runs the platform."""
    administrator_id: UUID


async def plan_deletion_mails(
    work: Work, organization: Organization, administrators: Sequence[UUID], *, by: str | None
) -> None:
    """Plan a mail to each owner and administrator of an organization that is being deleted."""
    for each in administrators:
        notice = DeletionNotice(organization_name=organization.name, by=by, administrator_id=each)
        key = f"{organization.id}:{each}"
        await work.plan(TELL_DELETED, key, due_at=work.now, payload=notice, tenant_id=each)


async def tell_deleted(work: Work, effect: Effect) -> Outcome:
    """Notify one owner or administrator that the organization was deleted."""
    notice = effect.plan(DeletionNotice)
    administrator = await mail.find_host(work, notice.administrator_id)
    if administrator is None:
        return Skipped("the administrator's account is deleted")
    draft = write_notice(effect, _write_letter(notice), administrator, notice.administrator_id)
    return await deliver(work, effect, draft, SYSTEM)


def _write_letter(notice: DeletionNotice) -> Letter:
    name = one_line(notice.organization_name)
    subject = Text("The organization %(organization)s was deleted", organization=name)
    return Letter(
        subject=subject,
        heading=subject,
        paragraphs=(
            Text("%(name)s deleted it.", name=one_line(notice.by))
            if notice.by
            else Text("An administrator of the platform deleted it."),
            Text("Its members keep their accounts and bookings. They no longer have the organization's plan."),
            Text("SCIM tokens, domains, invitations and the change log of the organization are deleted."),
        ),
        footer=(
            Text(
                "You received this email because you were an owner or administrator of %(organization)s.",
                organization=name,
            ),
        ),
    )


DELETION_REACTIONS = (Reaction(name=TELL_DELETED, run=tell_deleted, delays=DELAYS, destination=mail_server),)
