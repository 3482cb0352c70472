"""A mail as the bytes that are sent: headers, text, HTML and the calendar entry."""

from email import policy
from email.headerregistry import Address as HeaderAddress
from email.message import EmailMessage
from uuid import UUID

from email_validator import validate_email

from openslot.integrations.mail.models import Attachment, Mail, MailAddress
from openslot.integrations.mail.plain import LONGEST_LINE, one_line

HEADER_POLICY = policy.SMTP
UTF8_POLICY = policy.SMTPUTF8


def write_message(mail: Mail) -> bytes:
    """Write a mail as a message, the same bytes each time."""
    addresses = [address for address in (mail.sender, mail.to, mail.reply_to) if address is not None]
    message = EmailMessage(policy=UTF8_POLICY if any(needs_utf8(each) for each in addresses) else HEADER_POLICY)
    domain = ascii_address(mail.sender.email).rpartition("@")[2]
    message["Message-ID"] = write_message_id(mail.id, mail.sender)
    message["Date"] = mail.written_at
    message["From"] = _header_address(mail.sender)
    message["To"] = _header_address(mail.to)
    if mail.reply_to is not None:
        message["Reply-To"] = _header_address(mail.reply_to)
    message["Subject"] = _header_text(mail.subject)
    if mail.thread is not None:
        message["References"] = f"<{mail.thread}@{domain}>"
    # These headers suppress automatic replies such as absence notes.
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    _write_body(message, mail)
    # Set after the body, because otherwise the header would move to the first part.
    message["Content-Language"] = mail.language
    return _write_list_headers(mail) + message.as_bytes()


def _write_list_headers(mail: Mail) -> bytes:
    """Write the headers of RFC 8058; the library would turn a long address into encoded words, which nobody reads."""
    if mail.unsubscribe_url is None:
        return b""
    lines = (f"List-Unsubscribe: <{mail.unsubscribe_url}>", "List-Unsubscribe-Post: List-Unsubscribe=One-Click", "")
    return "\r\n".join(lines).encode()


def write_message_id(mail_id: UUID, sender: MailAddress) -> str:
    """Write the Message-ID of a mail, the same in every try."""
    return f"<{mail_id}@{ascii_address(sender.email).rpartition('@')[2]}>"


def needs_utf8(address: MailAddress) -> bool:
    """Tell whether an address needs a server that supports non-ASCII characters."""
    return not address.email.rpartition("@")[0].isascii()


def ascii_address(email: str) -> str:
    """Write the domain of an address in its ASCII form."""
    line = one_line(email, most=254)
    local, _, domain = line.rpartition("@")
    if domain.isascii():
        return line
    return f"{local}@{validate_email(line, check_deliverability=False).ascii_domain}"


def _header_address(address: MailAddress) -> HeaderAddress:
    local, _, domain = ascii_address(address.email).rpartition("@")
    return HeaderAddress(_header_text(address.name, most=100), local, domain)


def _header_text(text: str, *, most: int = LONGEST_LINE) -> str:
    # The library decodes encoded words that somebody typed, including line breaks hidden in them.
    return one_line(text, most=most).replace("=?", "= ?")


def _write_body(message: EmailMessage, mail: Mail) -> None:
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    if mail.calendar is not None:
        _add_calendar(message, mail.calendar)
    parts = [part for part in message.walk() if part.is_multipart()]
    for number, part in enumerate(parts):
        part.set_boundary(f"=_{mail.id.hex}_{number}")


def _add_calendar(message: EmailMessage, calendar: Attachment) -> None:
    """Add the entry twice, as Google does: some programs read the alternative, others the file."""
    message.add_alternative(
        calendar.content.decode(), subtype="calendar", cte="base64", params={"method": calendar.method.value}
    )
    message.add_attachment(calendar.content, maintype="application", subtype="ics", filename="invite.ics")
