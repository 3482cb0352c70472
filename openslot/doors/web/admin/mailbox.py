"""Pages: mail that was sent, and the embedded mailbox with every message as its reader would see it."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.mail.models import MailStatus
from openslot.domains.mail.operations import get_mail, list_kept_mails
from openslot.doors.http.security import FRAMING_POLICY, MAIL_POLICY
from openslot.doors.web.shared.list_queries import read_list_query
from openslot.doors.web.shared.pages import NOT_KEPT, page
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response, get

ROWS = 50
SAMPLE = """OPENSLOT_SMTP_URL=smtp://USER:PASSWORD@mail.example.com:587
OPENSLOT_MAIL_FROM=Openslot <bookings@example.com>"""
STATUSES = {
    MailStatus.SENDING: (Text("Sending"), "wait"),
    MailStatus.SENT: (Text("Sent"), "good"),
    MailStatus.FAILED: (Text("Failed"), "bad"),
}


class MailFile(Struct, frozen=True, kw_only=True):
    no: int
    name: str
    media_type: str
    size: int


@get("/admin/mailbox")
async def show_mailbox(request: Request, work: Work, user: User) -> Response:
    query = read_list_query(request, user, "/admin/mailbox", "recipient")
    found = await list_kept_mails(
        work, recipient=query["recipient"] or None, booking_id=None, limit=ROWS + 1, offset=(query.page - 1) * ROWS
    )
    return page(
        "admin/mailbox.html",
        user,
        here="/admin/mailbox",
        query=query,
        pager=query.pager_of_uncounted(has_more=len(found) > ROWS),
        form=query.form,
        rows=found[:ROWS],
        states=STATUSES,
        sample=SAMPLE,
    )


@get("/admin/mailbox/{mail_id}")
async def show_mail(work: Work, user: User, mail_id: UUID) -> Response:
    found, content = await get_mail(work, mail_id)
    message = _read(content)
    shown = page(
        "admin/mail.html",
        user,
        here="/admin/mailbox",
        mail=found,
        states=STATUSES,
        is_kept=message is not None,
        text=_find_text(message, "plain"),
        has_html=_find_text(message, "html") is not None,
        source=content.decode("utf-8", "replace") if content else None,
        attachments=[each for each, _ in _attachments(message)],
    )
    return replace(shown, headers={**shown.headers, "content-security-policy": FRAMING_POLICY.decode()})


@get("/admin/mailbox/{mail_id}/html")
async def show_mail_html(work: Work, user: User, mail_id: UUID) -> Response:
    """Send the HTML of a mail for the frame on its page."""
    _, content = await get_mail(work, mail_id)
    html = _find_text(_read(content), "html")
    if html is None:
        raise NotFound
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": MAIL_POLICY.decode()}
    return Response(headers={**NOT_KEPT, **headers}, body=html.encode())


@get("/admin/mailbox/{mail_id}/source")
async def save_mail_source(work: Work, user: User, mail_id: UUID) -> Response:
    _, content = await get_mail(work, mail_id)
    if content is None:
        raise NotFound
    return _file(content, name=f"{mail_id}.eml", media_type="message/rfc822")


@get("/admin/mailbox/{mail_id}/attachments/{no}")
async def save_attachment(work: Work, user: User, mail_id: UUID, no: str) -> Response:
    _, content = await get_mail(work, mail_id)
    for attachment, body in _attachments(_read(content)):
        if str(attachment.no) == no:
            return _file(body, name=attachment.name, media_type=attachment.media_type)
    raise NotFound


def _file(body: bytes, *, name: str, media_type: str) -> Response:
    safe = "".join(sign for sign in name if sign.isascii() and (sign.isalnum() or sign in "-_.")) or "attachment"
    headers = {"content-type": media_type, "content-disposition": f"attachment; filename={safe}"}
    return Response(headers={**NOT_KEPT, **headers}, body=body)


def _read(content: bytes | None) -> EmailMessage | None:
    return message_from_bytes(content, policy=policy.default) if content else None


def _find_text(message: EmailMessage | None, kind: str) -> str | None:
    part = message.get_body((kind,)) if message else None
    return str(part.get_content()) if part is not None else None


def _attachments(message: EmailMessage | None) -> list[tuple[MailFile, bytes]]:
    found = []
    for no, part in enumerate(message.iter_attachments() if message else (), start=1):
        body = part.get_payload(decode=True)
        content = body if isinstance(body, bytes) else b""
        name = part.get_filename() or f"attachment-{no}"
        found.append((MailFile(no=no, name=name, media_type=part.get_content_type(), size=len(content)), content))
    return found
