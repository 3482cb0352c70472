"""Mails to people about departures that wait, one for many of them, and about an organization that was deleted."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.accounts import members
from openslot.accounts.models import Organization
from openslot.core.actor import SYSTEM
from openslot.core.events import Effect, Outcome, Reaction, Skipped
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail import operations as mail
from openslot.integrations.mail.message import one_line
from openslot.integrations.mail.models import Fact, Letter
from openslot.integrations.mail.notices import write_notice
from openslot.integrations.mail.operations import deliver, mail_server
from openslot.integrations.mail.rules import DELAYS
from openslot.scim import store
from openslot.scim.models import HeldDeparture

REPORT_HELD = "scim.report_held"
GATHERED_FOR = timedelta(minutes=5)
MAX_NAMED = 10


class HeldReport(Struct, frozen=True, kw_only=True):
    """Which administrator is told about which organization."""

    organization_id: UUID
    organization_name: str
    administrator_id: UUID


async def plan_report(work: Work, organization: Organization) -> None:
    """Plan a mail to every administrator within five minutes; departures held until then are in the same mail."""
    for administrator_id in await members.list_administrators(work, organization):
        report = HeldReport(
            organization_id=organization.id, organization_name=organization.name, administrator_id=administrator_id
        )
        key = f"{organization.id}:{administrator_id}"
        await work.plan(REPORT_HELD, key, due_at=_next_report(work.now), payload=report, tenant_id=administrator_id)


async def report_held(work: Work, effect: Effect) -> Outcome:
    """Notify one administrator which departures wait, unless they were decided meanwhile."""
    report = effect.plan(HeldReport)
    held = await store.list_held(work.db, report.organization_id, now=work.now)
    administrator = await mail.find_host(work, report.administrator_id)
    if not held or administrator is None:
        return Skipped("no departure waits, or the administrator is gone")
    letter = _write_letter(one_line(report.organization_name), held)
    return await deliver(work, effect, write_notice(effect, letter, administrator, report.administrator_id), SYSTEM)


def _next_report(now: datetime) -> datetime:
    """Round up to the next five minutes, so that a long series of departures can't delay the mail."""
    step = GATHERED_FOR.total_seconds()
    return datetime.fromtimestamp((now.timestamp() // step + 1) * step, UTC)


def _write_letter(organization: str, held: list[HeldDeparture]) -> Letter:
    subject = PluralText(
        "%(count)s departure from %(organization)s waits for your decision",
        "%(count)s departures from %(organization)s wait for your decision",
        count=len(held),
        organization=organization,
    )
    return Letter(
        subject=subject,
        heading=subject,
        paragraphs=(
            Text("Your identity provider has suspended or removed many members within an hour. That may be a mistake."),
            Text("These people can no longer sign in. Their upcoming bookings are kept until you approve or reject."),
        ),
        facts=(Fact(label=Text("Members"), lines=tuple(one_line(each.email) for each in held[:MAX_NAMED])),),
        footer=(
            Text(
                "You received this email because you are an administrator of %(organization)s.",
                organization=organization,
            ),
        ),
    )


SCIM_REACTIONS = (Reaction(name=REPORT_HELD, run=report_held, delays=DELAYS, destination=mail_server),)


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
    draft = write_notice(effect, _write_deletion_letter(notice), administrator, notice.administrator_id)
    return await deliver(work, effect, draft, SYSTEM)


def _write_deletion_letter(notice: DeletionNotice) -> Letter:
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
