"""Mails to people about departures that wait, one for many of them, and about an organization that was deleted."""

from openslot.domains.mail import reasons
from openslot.domains.mail.models import Fact, Letter, compose
from openslot.domains.mail.notices import to_owner, write_notice
from openslot.domains.mail.operations import deliver, find_mail_host, mail_server
from openslot.domains.mail.rules import DELAYS
from openslot.domains.people import store
from openslot.domains.people.departures import REPORT_HELD, HeldReport
from openslot.domains.people.models import HeldDeparture
from openslot.domains.people.organization_deletions import TELL_DELETED, DeletionNotice
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.text import one_line
from openslot.platform.core.work import Outcome, Reaction, Skipped, Work
from openslot.platform.i18n import PluralText, Text

MAX_NAMED = 10


async def report_held(work: Work, effect: Effect) -> Outcome:
    """Notify one administrator which departures wait, unless they were decided meanwhile."""
    report = effect.plan(HeldReport)
    held = await store.list_held(work.db, report.organization_id, now=work.now)
    administrator = await find_mail_host(work, report.administrator_id)
    if not held or administrator is None:
        return Skipped(reasons.NOTHING_HELD)
    letter = _write_letter(one_line(report.organization_name), held)
    return await deliver(
        work, effect, write_notice(effect, letter, to_owner(administrator), host_id=report.administrator_id), SYSTEM
    )


def _write_letter(organization: str, held: list[HeldDeparture]) -> Letter:
    subject = PluralText(
        "%(count)s departure from %(organization)s waits for your decision",
        "%(count)s departures from %(organization)s wait for your decision",
        count=len(held),
        organization=organization,
    )
    return compose(
        subject,
        Text("Your identity provider has suspended or removed many members within an hour. That may be a mistake."),
        Text("These people can no longer sign in. Their upcoming bookings are kept until you approve or reject."),
        facts=(Fact(label=Text("Members"), lines=tuple(one_line(each.email) for each in held[:MAX_NAMED])),),
        footer=Text(
            "You received this email because you are an administrator of %(organization)s.",
            organization=organization,
        ),
    )


async def tell_deleted(work: Work, effect: Effect) -> Outcome:
    """Notify one owner or administrator that the organization was deleted."""
    notice = effect.plan(DeletionNotice)
    administrator = await find_mail_host(work, notice.administrator_id)
    if administrator is None:
        return Skipped(reasons.NO_ADMINISTRATOR)
    to, host_id = to_owner(administrator), notice.administrator_id
    draft = write_notice(effect, _write_deletion_letter(notice), to, host_id=host_id)
    return await deliver(work, effect, draft, SYSTEM)


def _write_deletion_letter(notice: DeletionNotice) -> Letter:
    name = one_line(notice.organization_name)
    subject = Text("The organization %(organization)s was deleted", organization=name)
    return compose(
        subject,
        Text("%(name)s deleted it.", name=one_line(notice.by))
        if notice.by
        else Text("An administrator of the platform deleted it."),
        Text("Its members keep their accounts and bookings. They no longer have the organization's plan."),
        Text("SCIM tokens, domains, invitations and the change log of the organization are deleted."),
        footer=Text(
            "You received this email because you were an owner or administrator of %(organization)s.",
            organization=name,
        ),
    )


ORGANIZATION_REACTIONS = (
    Reaction(name=REPORT_HELD, run=report_held, delays=DELAYS, destination=mail_server),
    Reaction(name=TELL_DELETED, run=tell_deleted, delays=DELAYS, destination=mail_server),
)
