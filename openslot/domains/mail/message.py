"""A mail as the bytes that are sent: safe headers, text, HTML and the calendar entry."""

from base64 import encodebytes
from binascii import b2a_qp
from email import policy
from email.generator import BytesGenerator
from email.headerregistry import Address as HeaderAddress
from email.message import EmailMessage, Message
from email.utils import format_datetime
from io import BytesIO
from uuid import UUID

from email_validator import validate_email

from openslot.domains.mail.models import Mail, MailAddress
from openslot.platform.core.text import LONGEST_LINE, defuse, one_line

HEADER_POLICY, UTF8_POLICY = policy.SMTP, policy.SMTPUTF8
# A line may have 998 characters, with the name of the header.
LONGEST_HEADER = 900
SHORT_HEADER = 70


class WrittenHeaders(policy.Compat32):
    """Writes headers as they are: `fold_header` has folded those that contain what people entered."""

    def fold_binary(self, name: str, value: str) -> bytes:
        return f"{name}: {value}\r\n".encode()


WRITTEN = WrittenHeaders(linesep="\r\n")


class WholeParts(BytesGenerator):
    """Writes the lines of a part at once; the library writes them one by one, which is half of its work."""

    def _write_lines(self, lines: str) -> None:
        self.write(lines.replace("\n", "\r\n"))


def write_message(mail: Mail) -> bytes:
    """Write a mail as a message, the same bytes each time."""
    addresses = [address for address in (mail.sender, mail.to, mail.reply_to) if address is not None]
    rules = UTF8_POLICY if any(needs_utf8(each) for each in addresses) else HEADER_POLICY
    domain = ascii_address(mail.sender.email).rpartition("@")[2]
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
    message = _write_body(mail)
    for name, value in own.items():
        message[name] = one_line(value, max_=LONGEST_HEADER)
    message["From"] = fold_header("From", mail.sender, rules)
    message["To"] = fold_header("To", mail.to, rules)
    if mail.reply_to is not None:
        message["Reply-To"] = fold_header("Reply-To", mail.reply_to, rules)
    message["Subject"] = fold_header("Subject", mail.subject, rules)
    written = BytesIO()
    WholeParts(written, mangle_from_=False, policy=WRITTEN).flatten(message)
    return written.getvalue()


def _write_body(mail: Mail) -> Message:
    texts: list[Message | str] = [_write_text(mail.text, "plain"), _write_text(mail.html, "html")]
    if mail.calendar is None:
        return _write_multipart(mail, 0, "alternative", texts)
    # The entry is there twice, as in Google's mail: some programs read the alternative, others the file.
    content = encodebytes(mail.calendar.content)
    kind = f'text/calendar; charset="utf-8"; method="{mail.calendar.method}"'
    body = _write_multipart(mail, 1, "alternative", [*texts, _write_part(kind, "base64", content)])
    file = _write_part("application/ics", "base64", content)
    file["Content-Disposition"] = 'attachment; filename="invite.ics"'
    return _write_multipart(mail, 0, "mixed", [body, file])


def _write_multipart(mail: Mail, number: int, kind: str, parts: list[Message | str]) -> Message:
    part = Message(WRITTEN)
    part["Content-Type"] = f'multipart/{kind};\r\n boundary="=_{mail.id.hex}_{number}"'
    part.set_payload(parts)
    return part


def _write_text(text: str, kind: str) -> Message:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n") + "\n"
    return _write_part(f'text/{kind}; charset="utf-8"', "quoted-printable", b2a_qp(lines.encode(), istext=True))


def _write_part(kind: str, encoding: str, content: bytes) -> Message:
    part = Message(WRITTEN)
    part["Content-Type"] = kind
    part["Content-Transfer-Encoding"] = encoding
    part.set_payload(content.decode("ascii"))
    return part


def fold_header(name: str, value: MailAddress | str, rules: "policy.EmailPolicy[EmailMessage]") -> str:
    """Write a header that contains what somebody entered, without its name."""
    entered = _header_text(value) if isinstance(value, str) else _header_address(value)
    if _is_plain(name, text := str(entered)):
        return text
    written: str = rules.fold(*rules.header_store_parse(name, entered))
    return written[len(name) + 1 :].lstrip(" ").removesuffix("\r\n")


def _is_plain(name: str, text: str) -> bool:
    """Return whether a text fits on the line of its header as it is, so that the library would change nothing."""
    return text.isascii() and len(name) + len(text) <= SHORT_HEADER


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
