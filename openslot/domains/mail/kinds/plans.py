"""Mails about plans that are paid for."""

from openslot.domains.mail import reasons
from openslot.domains.mail.models import Letter, compose
from openslot.domains.mail.notices import to_owner, write_notice
from openslot.domains.mail.operations import deliver, find_mail_host, mail_server
from openslot.domains.mail.rules import DELAYS
from openslot.domains.plans.operations import TELL_SECOND, SecondSubscription
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Outcome, Reaction, Skipped, Work
from openslot.platform.i18n import Text


async def tell_second(work: Work, effect: Effect) -> Outcome:
    """Tell somebody that they had paid twice, and that the second subscription is cancelled."""
    second = effect.plan(SecondSubscription)
    told = await find_mail_host(work, second.told_id) if second.told_id else None
    if told is None or second.told_id is None:
        return Skipped(reasons.DELETED)
    draft = write_notice(effect, _write_letter(), to_owner(told), host_id=second.told_id)
    return await deliver(work, effect, draft, SYSTEM)


def _write_letter() -> Letter:
    return compose(
        Text("Your second subscription was cancelled"),
        Text(
            "There were two subscriptions for the same account. The second one was cancelled; the first one continues."
        ),
        Text("What you have paid for the second one is credited: your next invoices are lower by it."),
        footer=Text("You received this email because you manage a plan."),
    )


PLAN_REACTIONS = (Reaction(name=TELL_SECOND, run=tell_second, delays=DELAYS, destination=mail_server),)
