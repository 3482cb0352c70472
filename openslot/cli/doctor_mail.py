"""The doctor's check of mail."""

import asyncio
from datetime import timedelta

from openslot.cli.finding import Finding, ok, problem
from openslot.core.config import Settings

PATIENCE = timedelta(seconds=10)


def look_at_mail(chosen: Settings) -> Finding:
    """Check whether mail can be sent: connect to the server and log in, without sending anything."""
    from openslot.integrations.mail.ports import MailDeferred
    from openslot.integrations.mail.smtp import SmtpMailer

    if chosen.smtp_url is None and chosen.sign_up == "open":
        return problem("mail", "Anyone may sign up, but no mail with the link is sent.", "Set OPENSLOT_SMTP_URL")
    if chosen.smtp_url is None:
        return ok("mail", "OPENSLOT_SMTP_URL is not set: mail stays in the embedded mailbox (openslot mail list).")
    try:
        asyncio.run(SmtpMailer(chosen.smtp_url.server, answer_within=PATIENCE).check())
    except MailDeferred as fault:
        return problem("mail", f"Mail can't be sent by {chosen.smtp_url!r}: {fault}", "Correct OPENSLOT_SMTP_URL")
    return ok("mail", f"{chosen.smtp_url!r} takes mail.")
