"""The body of a mail as bytes: the text, the same as HTML, and the calendar entry."""

from base64 import encodebytes
from binascii import b2a_qp

from openslot.integrations.mail.models import Attachment, Mail

TEXT = 'text/{kind}; charset="utf-8"'


def write_parts(mail: Mail) -> bytes:
    """Write the body of a mail with the headers that describe it; what follows the other headers."""
    texts = [_write_text(mail.text, "plain"), _write_text(mail.html, "html")]
    if mail.calendar is None:
        return _write_multipart("alternative", texts, boundary=_boundary(mail, 0))
    # The entry is there twice, as in Google's mail: some programs read the alternative, others the file.
    texts.append(_write_calendar(mail.calendar))
    body = _write_multipart("alternative", texts, boundary=_boundary(mail, 1))
    return _write_multipart("mixed", [body, _write_file(mail.calendar)], boundary=_boundary(mail, 0))


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


def _write_calendar(calendar: Attachment) -> bytes:
    kind = f'{TEXT.format(kind="calendar")}; method="{calendar.method.value}"'
    return _write_part(kind, "base64", _base64(calendar.content))


def _write_file(calendar: Attachment) -> bytes:
    disposition = 'Content-Disposition: attachment; filename="invite.ics"'
    return _write_part("application/ics", "base64", _base64(calendar.content), disposition)


def _base64(content: bytes) -> bytes:
    return encodebytes(content).replace(b"\n", b"\r\n")
