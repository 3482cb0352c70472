"""The doctor's check of mail."""

import asyncio
from datetime import timedelta

from openslot.core.config import Settings
from openslot.doctor.finding import Finding, ok, problem
from openslot.integrations.mail.ports import MailDeferred
from openslot.integrations.mail.smtp import SmtpMailer

LOCK_RETRIES = timedelta(seconds=10)


def look_at_mail(chosen: Settings) -> Finding:
    """Check whether mail can be sent: connect to the server and log in, without sending anything."""
    if chosen.smtp_url is None and chosen.sign_up == "open":
        meaning = "Anyone can sign up (OPENSLOT_SIGN_UP=open), but emails are not sent, so nobody gets the link."
        return problem("mail", meaning, "Set OPENSLOT_SMTP_URL and OPENSLOT_MAIL_FROM")
    if chosen.smtp_url is None:
        return ok("mail", "OPENSLOT_SMTP_URL is not set: emails stay in the embedded mailbox (openslot mail list).")
    try:
        asyncio.run(SmtpMailer(chosen.smtp_url.server, answer_within=LOCK_RETRIES).check())
    except MailDeferred as fault:
        meaning = f"{chosen.smtp_url!r}: {fault}. Emails are retried for about 24 hours, then they fail."
        return problem("mail", meaning, "Correct OPENSLOT_SMTP_URL, or start the mail server")
    return ok("mail", f"{chosen.smtp_url!r} responds and accepts the login.")
