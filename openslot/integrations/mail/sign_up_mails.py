"""Mails after the sign-up form: the link that opens the account, or the word that there is one already."""

from openslot.accounts import operations as accounts
from openslot.accounts import sign_ups
from openslot.accounts.events import SignUpRequested
from openslot.accounts.models import SignUp
from openslot.core.events import Effect, Outcome
from openslot.core.work import Runtime, Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail.account_mails import FORGOT, to_account, write_account_mail
from openslot.integrations.mail.deliveries import deliver, leave_unsent
from openslot.integrations.mail.models import Fact, Letter, Link

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
