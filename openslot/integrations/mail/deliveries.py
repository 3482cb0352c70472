"""One try of one mail: write it, log it, send it, and log the result."""

from openslot.core.actor import SYSTEM, Actor
from openslot.core.destinations import Destination
from openslot.core.events import Done, Effect, GiveUp, Outcome, Skipped, TryLater
from openslot.core.work import Work
from openslot.integrations.mail import operations
from openslot.integrations.mail.operations import Draft
from openslot.integrations.mail.ports import MailDeferred, MailRefused
from openslot.integrations.mail.rules import is_last_try


def mail_server(work: Work, _: Effect) -> Destination | None:
    """Name the destination of mail: one server, owned by the operator; none for the embedded mailbox."""
    return Destination("mail server", None, is_operators=True) if work.runtime.settings.smtp_url else None


async def deliver(work: Work, effect: Effect, draft: Draft, cause: Actor) -> Outcome:
    """Send one mail; its result is in the log before the effect is closed."""
    mailer = operations.choose_mailer(work.runtime, cause)
    if draft.is_public:
        async with work.runtime.transaction(SYSTEM) as counted:
            mail = await operations.begin_mail(counted, draft, mailer)
    else:
        mail = await operations.begin_mail(work, draft, mailer)
    if isinstance(mail, str):
        return Skipped(mail)
    if mail is not None:
        try:
            await mailer.send(mail)
        except MailRefused as fault:
            await _fail(work, effect, str(fault))
            raise GiveUp(str(fault), answered=True) from fault
        except MailDeferred as fault:
            if is_last_try(effect.attempts):
                await _fail(work, effect, str(fault))
            raise TryLater(str(fault), answered=fault.answered) from fault
    return Done(write=lambda done: operations.finish_mail(done, effect.id))


async def leave_unsent(work: Work, effect: Effect, reason: str) -> Skipped:
    """Leave a mail unsent; if it was tried before, the log says so."""
    await _fail(work, effect, f"not sent: {reason}")
    return Skipped(reason)


async def _fail(work: Work, effect: Effect, error: str) -> None:
    async with work.runtime.transaction(SYSTEM) as failed:
        await operations.fail_mail(failed, effect.id, error)
