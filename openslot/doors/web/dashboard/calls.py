"""Pages: the log of calls, and one call with its recording and transcript."""

import asyncio
import re
from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calls.models import Call, CallDirection, CallStatus
from openslot.domains.calls.operations import CallsFilter, erase_call, get_call, list_calls
from openslot.domains.messaging import files
from openslot.domains.messaging.errors import MessageFileNotFound, MessageFileUnavailable
from openslot.doors.http.doors import take
from openslot.doors.http.security import PLAYING_POLICY
from openslot.doors.web.shared.curl import Curl, curl
from openslot.doors.web.shared.list_queries import ListQuery, read_list_query
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import RateLimit, Request, Response, get, post

ROWS = 25
# Each fetches a file from the provider.
FILES = RateLimit("call-files", 120)
TRANSCRIPT_WITHIN = timedelta(seconds=5)
RANGE = re.compile(r"bytes=(\d{0,12})-(\d{0,12})", re.ASCII)
NOTICES = {"deleted": Text("The call is deleted.")}
CALL_DIRECTIONS = {CallDirection.INBOUND: Text("Incoming"), CallDirection.OUTBOUND: Text("Outgoing")}
CALL_STATUSES = {
    CallStatus.COMPLETED: Text("Completed"),
    CallStatus.NO_ANSWER: Text("No answer"),
    CallStatus.FAILED: Text("Failed"),
}


def length_of(seconds: int) -> Text:
    """Write `3 min 4 s`."""
    if seconds < 60:
        return PluralText("%(count)s s", "%(count)s s", count=seconds)
    if seconds < 3600:
        return Text("%(minutes)s min %(seconds)s s", minutes=seconds // 60, seconds=seconds % 60)
    return Text("%(hours)s h %(minutes)s min", hours=seconds // 3600, minutes=seconds // 60 % 60)


CALL_WORDS: dict[str, Any] = {"directions": CALL_DIRECTIONS, "statuses": CALL_STATUSES, "length_of": length_of}


@get("/calls")
async def show_calls(request: Request, work: Work, user: User) -> Response:
    """Show one page of the finished calls that the address asks for."""
    choices: dict[str, set[str]] = {"direction": set(CallDirection), "status": set(CallStatus)}
    query = read_list_query(request, user, "/calls", "q", "direction", "status", "from", "to", choices=choices)
    direction, status = query["direction"], query["status"]
    wanted = CallsFilter(
        search=query["q"],
        direction=CallDirection(direction) if direction else None,
        status=CallStatus(status) if status else None,
        span=query.span,
    )
    found, total = await list_calls(work, user, wanted, page=query.page, limit=ROWS)
    return page(
        "dashboard/calls/list.html",
        user,
        here="/calls",
        form=query.form,
        rows=found,
        **CALL_WORDS,
        is_narrowed=query.is_narrowed,
        pager=query.pager(total, ROWS),
        curl=_write_curl(work, user, query),
        notices=NOTICES,
    )


@get("/calls/{call_id}")
async def show_call_page(request: Request, work: Work, user: User, call_id: UUID) -> Response:
    """Show a call with a player of its recording, and with what was said."""
    known = await get_call(work, user, call_id)
    transcript = await _fetch_transcript(request, work, known.call)
    shown = page("dashboard/calls/call.html", user, here="/calls", known=known, transcript=transcript, **CALL_WORDS)
    return replace(shown, headers={**shown.headers, "content-security-policy": PLAYING_POLICY.decode()})


async def _fetch_transcript(request: Request, work: Work, call: Call) -> str | None:
    """Fetch what was said; None if there is no transcript, or the provider does not give it now."""
    if call.transcript is None:
        return None
    await take(work.runtime, FILES, request.address)
    try:
        async with asyncio.timeout(TRANSCRIPT_WITHIN.total_seconds()):
            return await files.fetch_transcript(work, call)
    except (MessageFileNotFound, MessageFileUnavailable, TimeoutError):
        return None


@get("/calls/{call_id}/recording", limit=FILES)
async def play_recording(request: Request, work: Work, user: User, call_id: UUID) -> Response:
    """Send the recording, or the part of it that a player asks for."""
    media = await files.fetch_recording(work, user, call_id)
    headers = {
        "content-type": media.content_type,
        "content-disposition": "attachment; filename=call",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
        "accept-ranges": "bytes",
    }
    size = len(media.content)
    wanted = read_range(request.headers.get("range", ""), size)
    if wanted is None:
        return Response(headers=headers, body=media.content)
    if not wanted:
        return Response(status=416, headers={**headers, "content-range": f"bytes */{size}"})
    headers["content-range"] = f"bytes {wanted.start}-{wanted.stop - 1}/{size}"
    return Response(status=206, headers=headers, body=media.content[wanted.start : wanted.stop])


def read_range(header: str, size: int) -> range | None:
    """Read which bytes are asked for; None if all of them or several parts are; empty if there are none."""
    found = RANGE.fullmatch(header.strip())
    if found is None or found[1] == found[2] == "":
        return None
    if not found[1]:
        return range(max(size - int(found[2]), 0), size)
    first, last = int(found[1]), int(found[2] or size)
    return range(first, min(last + 1, size)) if first <= last else None


@get("/calls/{call_id}/delete")
async def ask_to_delete_call(work: Work, user: User, call_id: UUID) -> Response:
    known = await get_call(work, user, call_id)
    return page("dashboard/calls/delete.html", user, here="/calls", known=known)


@post("/calls/{call_id}/delete")
async def delete_call(work: Work, user: User, call_id: UUID) -> Response:
    await erase_call(work, user, call_id)
    return redirect("/calls?done=deleted")


def _write_curl(work: Work, user: User, query: ListQuery) -> Curl | None:
    status = {"status": query["status"].upper()} if query["status"] else {}
    return curl(work, user, "/calls", query={**status, **query.days, "page": str(query.page), "limit": str(ROWS)})
