"""The mail with the code that proves an invitee's address, before anything is booked."""

from openslot.domains.access import email_codes
from openslot.domains.access.email_codes import CodePlan
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import get_any_event_type
from openslot.domains.mail import reasons
from openslot.domains.mail.meetings import MailHost
from openslot.domains.mail.models import Draft, Fact, Letter, MailAddress, MailKind, Recipient, RecipientRole, compose
from openslot.domains.mail.operations import deliver, find_mail_host, leave_unsent
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.text import one_line
from openslot.platform.core.work import Outcome, Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import choose_locale


async def send_code(work: Work, effect: Effect) -> Outcome:
    """Send a code to whoever wants to book, while it can be used."""
    code = await email_codes.find_code(work, effect.plan(CodePlan).code_id)
    if code is None:
        return await leave_unsent(work, effect, reasons.CODE_EXPIRED)
    event_type = await get_any_event_type(work, code.event_type_id)
    host = await find_mail_host(work, event_type.owner_id, color=event_type.color)
    if host is None:
        return await leave_unsent(work, effect, reasons.CODE_EXPIRED)
    draft = Draft(
        id=effect.id,
        kind=MailKind.NOTICE,
        letter=_write(email_codes.code_of(work.runtime, code.id), code.email, event_type, host),
        recipient=Recipient(role=RecipientRole.NONE, email=code.email, name=None, zone="UTC", locale=code.locale),
        brand=host.brand,
        locale=choose_locale(code.locale, host.locale),
        # Not among the host's mails: nothing is booked, and the address may be anybody's.
        host_id=None,
        reply_to=MailAddress(host.email, host.name),
        is_public=True,
        is_security=True,
    )
    return await deliver(work, effect, draft, SYSTEM)


def _write(code: str, email: str, event_type: EventType, host: MailHost) -> Letter:
    title = Text("%(meeting)s with %(name)s", meeting=one_line(event_type.name), name=one_line(host.name))
    return compose(
        Text("%(code)s is your code to book %(title)s", code=code, title=title),
        Text("Enter this code to confirm your email address. Your booking is made only then."),
        PluralText(
            "The code can be used once, within %(count)s minute.",
            "The code can be used once, within %(count)s minutes.",
            count=int(email_codes.LASTS.total_seconds()) // 60,
        ),
        heading=Text("Confirm your email address"),
        logged_subject=Text("Code to book %(title)s", title=title),
        facts=(
            Fact(label=Text("Code"), lines=(code,)),
            Fact(label=Text("What"), lines=(one_line(event_type.name),)),
            Fact(label=Text("Host"), lines=(one_line(host.name),)),
        ),
        footer=Text(
            "You received this email because %(email)s was entered to book a time with %(host)s. "
            "If that wasn't you, you can ignore it: nothing was booked.",
            email=email,
            host=one_line(host.name),
        ),
    )
