"""A mail as the bytes that are sent: safe headers, text, HTML and the calendar entry."""

import re
import unicodedata
from base64 import encodebytes
from binascii import b2a_qp
from email import policy
from email.headerregistry import Address as HeaderAddress
from email.utils import format_datetime
from uuid import UUID

from email_validator import validate_email

from openslot.core.text import defuse, without_turns
from openslot.integrations.mail.models import Mail, MailAddress

TEXT = 'text/{kind}; charset="utf-8"'


def write_parts(mail: Mail) -> bytes:
    """Write the body of a mail with the headers that describe it; what follows the other headers."""
    texts = [_write_text(mail.text, "plain"), _write_text(mail.html, "html")]
    if mail.calendar is None:
        return _write_multipart("alternative", texts, boundary=_boundary(mail, 0))
    # The entry is there twice, as in Google's mail: some programs read the alternative, others the file.
    content = encodebytes(mail.calendar.content).replace(b"\n", b"\r\n")
    texts.append(_write_part(f'{TEXT.format(kind="calendar")}; method="{mail.calendar.method}"', "base64", content))
    body = _write_multipart("alternative", texts, boundary=_boundary(mail, 1))
    file = _write_part("application/ics", "base64", content, 'Content-Disposition: attachment; filename="invite.ics"')
    return _write_multipart("mixed", [body, file], boundary=_boundary(mail, 0))


def _boundary(mail: Mail, number: int) -> str:
    return f"=_{mail.id.hex}_{number}"


def _write_multipart(kind: str, parts: list[bytes], *, boundary: str) -> bytes:
    between = f"--{boundary}\r\n".encode()
    head = f'Content-Type: multipart/{kind};\r\n boundary="{boundary}"\r\n\r\n'.encode()
    return head + b"".join(between + part + b"\r\n" for part in parts) + f"--{boundary}--\r\n".encode()


def _write_part(kind: str, encoding: str, content: bytes, *more: str) -> bytes:
    headers = (f"Content-Type: {kind}", f"Content-Transfer-Encoding: {encoding}", *more)
    return "".join(f"{header}\r\n" for header in headers).encode() + b"\r\n" + content


def _write_text(text: str, kind: str) -> bytes:
    lines = b"".join(line + b"\r\n" for line in text.encode().splitlines())
    return _write_part(TEXT.format(kind=kind), "quoted-printable", b2a_qp(lines, istext=True))


LONGEST_LINE = 200
LONGEST_NAME = 60
# Control characters, surrogates, line and paragraph separators.
BREAKS = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Text that a mail program would show as a link, or that does not look like a name.
LINK_LIKE = re.compile(r"[/:@<>\\]|www\.|\w\.\w{2,}", re.IGNORECASE)


def one_line(text: str, *, max_: int = LONGEST_LINE) -> str:
    """Write a text on one line of at most so many characters, without anything that a header must not have."""
    # A longer text is cut first, so that a megabyte is not scanned.
    kept = text[: max_ * 4]
    # Most texts are plain, and looking at each character is slow.
    if not (kept.isascii() and kept.isprintable()):
        kept = "".join(" " if unicodedata.category(each) in BREAKS else each for each in without_turns(kept))
    line = " ".join(kept.split())
    return line if len(line) <= max_ else line[: max_ - 1].rstrip() + "…"


def paragraph(text: str, *, max_: int = 5000) -> str:
    """Keep the line breaks of a text, and remove all other invisible characters."""
    lines = text[: max_ * 2].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(one_line(line, max_=max_) for line in lines)[:max_].strip()


def find_name(text: str) -> str | None:
    """Read a name that somebody entered; None if it looks like an advertisement.

    Anyone who books enters a name and other people's addresses; their text must not be sent in our name.
    """
    name = one_line(text, max_=LONGEST_NAME + 1)
    return None if not name or len(name) > LONGEST_NAME or LINK_LIKE.search(name) else name


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
    headers = "".join(f"{name}: {one_line(value, max_=LONGEST_HEADER)}\r\n" for name, value in own.items())
    return headers.encode() + written + write_parts(mail)


def _list_headers(mail: Mail) -> dict[str, str]:
    """Name the headers of RFC 8058; the library would turn a long address into encoded words, which nobody reads."""
    if mail.unsubscribe_url is None:
        return {}
    return {
        "List-Unsubscribe": f"<{mail.unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def write_message_id(mail_id: UUID, sender: MailAddress) -> str:
    """Write the Message-ID of a mail, the same in every try."""
    return f"<{mail_id}@{ascii_address(sender.email).rpartition('@')[2]}>"


def needs_utf8(address: MailAddress) -> bool:
    """Return whether an address needs a server that supports non-ASCII characters."""
    return not address.email.rpartition("@")[0].isascii()


def ascii_address(email: str) -> str:
    """Write the domain of an address in its ASCII form."""
    line = one_line(email, max_=254)
    local, _, domain = line.rpartition("@")
    if domain.isascii():
        return line
    return f"{local}@{validate_email(line, check_deliverability=False).ascii_domain}"


def _header_address(address: MailAddress) -> HeaderAddress:
    local, _, domain = ascii_address(address.email).rpartition("@")
    return HeaderAddress(defuse(_header_text(address.name, max_=100)), local, domain)


def _header_text(text: str, *, max_: int = LONGEST_LINE) -> str:
    # The library decodes encoded words that somebody typed, including line breaks hidden in them.
    return one_line(text, max_=max_).replace("=?", "= ?")
