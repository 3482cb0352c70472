"""What follows from what assistants ask: mail to the user who decides, and the end of what nobody has decided."""

from openslot.domains.accounts.store import find_user
from openslot.domains.bookings.words import format_short
from openslot.domains.mail import reasons
from openslot.domains.mail.models import Fact, Letter, Link, compose
from openslot.domains.mail.notices import ACCOUNT_FOOTER, SECURITY_FOOTER, to_owner, write_notice
from openslot.domains.mail.operations import deliver, leave_unsent, mail_server
from openslot.domains.mail.rules import DELAYS
from openslot.doors.assistants import activity
from openslot.doors.assistants.calls.store import erase_call_results, expire_call_approvals, find_approval
from openslot.doors.assistants.words import name_tool
from openslot.doors.mcp.approvals import RESULTS_KEPT
from openslot.doors.oauth.events import AssistantApprovalRequested, AssistantConnected
from openslot.doors.oauth.models import AssistantScope
from openslot.doors.oauth.rules import ORDER, SCOPES
from openslot.platform.core.events import Effect
from openslot.platform.core.text import one_line
from openslot.platform.core.work import Outcome, Periodic, Reaction, Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import choose_locale
from openslot.platform.jobs.batches import delete_old, repeat

APPROVALS_KEPT = activity.CALLS_KEPT


async def tell_connected(work: Work, effect: Effect) -> Outcome:
    """Tell a user that an assistant can act for them now."""
    event = effect.event(AssistantConnected)
    user = await find_user(work.db, event.user_id, now=work.now)
    if user is None:
        return await leave_unsent(work, effect, reasons.DELETED)
    when = format_short(effect.event_at, user.zone, choose_locale(user.locale))
    letter = _write_connected(event, when, f"{work.runtime.settings.public_url}/account#assistants")
    # To the address that the account had then: whoever has taken it over may have changed the address too.
    draft = write_notice(effect, letter, to_owner(user, event.email), host_id=user.id, is_security=True)
    return await deliver(work, effect, draft, effect.actor)


def _write_connected(event: AssistantConnected, when: str, url: str) -> Letter:
    allowed = {AssistantScope(scope) for scope in event.scopes}
    return compose(
        Text("An assistant was connected to your account"),
        Text("From now on it can act for you. You can disconnect it in your account at any time."),
        Text("If this wasn't you, disconnect it now and change your password."),
        facts=(
            Fact(label=Text("Assistant"), lines=(one_line(event.client_name),)),
            Fact(label=Text("What it may do"), lines=tuple(SCOPES[scope] for scope in ORDER if scope in allowed)),
            Fact(label=Text("Account"), lines=(event.email,)),
            Fact(label=Text("When"), lines=(when,)),
        ),
        button=Link(label=Text("Go to your account"), url=url),
        footer=SECURITY_FOOTER,
    )


async def ask_by_mail(work: Work, effect: Effect) -> Outcome:
    """Ask a user to decide about a call of an assistant."""
    event = effect.event(AssistantApprovalRequested)
    user = await find_user(work.db, event.user_id, now=work.now)
    if user is None:
        return await leave_unsent(work, effect, reasons.DELETED)
    found = await find_approval(work.db, user.id, event.approval_id)
    if found is None or found[0].decided_at is not None or event.expires_at <= work.now:
        return await leave_unsent(work, effect, reasons.DECIDED)
    letter = compose(
        Text("Your assistant asks for your approval"),
        Text("It wants to do something for you that you want to decide about first. Nothing is done until then."),
        facts=(
            Fact(label=Text("Assistant"), lines=(one_line(event.client_name),), is_verbatim=True),
            Fact(label=Text("What it wants to do"), lines=(name_tool(event.tool),)),
            Fact(
                label=Text("Decide until"),
                lines=(format_short(event.expires_at, user.zone, choose_locale(user.locale)),),
            ),
        ),
        button=Link(label=Text("View the request"), url=f"{event.base_url}/account/approvals/{event.approval_id}"),
        footer=ACCOUNT_FOOTER,
    )
    draft = write_notice(effect, letter, to_owner(user), host_id=user.id)
    return await deliver(work, effect, draft, effect.actor)


async def expire_approvals(work: Work) -> str:
    """Close requests of assistants that their users have not decided within a day, and erase their arguments."""
    expired = await repeat(lambda limit: expire_call_approvals(work.db, now=work.now, limit=limit))
    return f"{expired} requests expired"


async def tidy_calls(work: Work) -> str:
    """Erase results of approved calls after a day, and remove old requests and entries of the log of assistants."""
    before = work.now - RESULTS_KEPT
    erased = await repeat(lambda limit: erase_call_results(work.db, before=before, limit=limit))
    old = work.now - APPROVALS_KEPT
    requests = await delete_old(work.db, "assistant_approvals", "created_at", before=old)
    calls = await delete_old(work.db, "assistant_calls", "at", before=work.now - activity.CALLS_KEPT, key="no")
    return f"{erased} results erased, {requests} requests and {calls} calls removed"


ASSISTANT_REACTIONS = (
    Reaction(
        name="assistants.tell_connected",
        on=(AssistantConnected,),
        run=tell_connected,
        delays=DELAYS,
        destination=mail_server,
    ),
    Reaction(
        name="assistants.ask_by_mail",
        on=(AssistantApprovalRequested,),
        run=ask_by_mail,
        delays=DELAYS,
        destination=mail_server,
    ),
)
CALL_JOBS = (
    Periodic(name="assistants.expire_approvals", expression="* * * * *", run=expire_approvals, transaction="none"),
    Periodic(name="assistants.tidy_calls", expression="34 * * * *", run=tidy_calls, transaction="none"),
)
