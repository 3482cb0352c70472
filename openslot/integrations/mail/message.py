"""A mail as the bytes that are sent: headers, text, HTML and the calendar entry."""

from collections.abc import Mapping
from email import policy
from email.headerregistry import Address as HeaderAddress
from email.utils import format_datetime
from uuid import UUID

from email_validator import validate_email

from openslot.core.text import defuse
from openslot.integrations.mail.message_parts import write_parts
from openslot.integrations.mail.models import Mail, MailAddress
from openslot.integrations.mail.plain import LONGEST_LINE, one_line

HEADER_POLICY = policy.SMTP
UTF8_POLICY = policy.SMTPUTF8
# A line may have 998 characters, with the name of the header.
LONGEST_HEADER = 900


def write_message(mail: Mail) -> bytes:
    """Write a mail as a message, the same bytes each time.

    The library writes the headers that contain what people entered. It takes ten times as long for the whole message.
    """
    addresses = [address for address in (mail.sender, mail.to, mail.reply_to) if address is not None]
    rules = UTF8_POLICY if any(needs_utf8(each) for each in addresses) else HEADER_POLICY
    domain = ascii_address(mail.sender.email).rpartition("@")[2]
    entered = {
        "From": _header_address(mail.sender),
        "To": _header_address(mail.to),
        **({"Reply-To": _header_address(mail.reply_to)} if mail.reply_to else {}),
        "Subject": _header_text(mail.subject),
    }
    own = {
        **_list_headers(mail),
        "Message-ID": write_message_id(mail.id, mail.sender),
        "Date": format_datetime(mail.written_at),
        **({"References": f"<{mail.thread}@{domain}>"} if mail.thread else {}),
        # These headers suppress automatic replies such as absence notes.
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "Content-Language": mail.language,
        "MIME-Version": "1.0",
    }
    written = b"".join(rules.fold_binary(*rules.header_store_parse(name, value)) for name, value in entered.items())
    return _write_headers(own) + written + write_parts(mail)


def _list_headers(mail: Mail) -> dict[str, str]:
    """Name the headers of RFC 8058; the library would turn a long address into encoded words, which nobody reads."""
    if mail.unsubscribe_url is None:
        return {}
    return {
        "List-Unsubscribe": f"<{mail.unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def _write_headers(headers: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {one_line(value, most=LONGEST_HEADER)}\r\n" for name, value in headers.items()).encode()


def write_message_id(mail_id: UUID, sender: MailAddress) -> str:
    """Write the Message-ID of a mail, the same in every try."""
    return f"<{mail_id}@{ascii_address(sender.email).rpartition('@')[2]}>"


def needs_utf8(address: MailAddress) -> bool:
    """Return whether an address needs a server that supports non-ASCII characters."""
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
    return HeaderAddress(defuse(_header_text(address.name, most=100)), local, domain)


def _header_text(text: str, *, most: int = LONGEST_LINE) -> str:
    # The library decodes encoded words that somebody typed, including line breaks hidden in them.
    return one_line(text, most=most).replace("=?", "= ?")
