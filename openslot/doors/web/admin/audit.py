"""Pages: what agents have called, and what administrators have changed on the platform; also as CSV."""

import asyncio
from collections.abc import Iterable, Iterator

from openslot.domains.accounts.models import User
from openslot.domains.change_log.operations import list_changes
from openslot.doors.agents.audit.operations import list_audit_page, list_audited_calls, verify
from openslot.doors.agents.calls import BY_NAME
from openslot.doors.agents.models import AuditFilter, AuditStatus, CallRecord
from openslot.doors.agents.roster import ROSTER
from openslot.doors.web.shared import words
from openslot.doors.web.shared.changes import PLATFORM_ACTIONS, describe_changes, read_change_filter, write_log
from openslot.doors.web.shared.downloads import send_csv, write_csv
from openslot.doors.web.shared.list_queries import ListQuery, read_before, read_list_query
from openslot.doors.web.shared.pages import locale_of, page
from openslot.platform.core.times import iso
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response, get, post

ROWS, MAX_ROWS = 50, 10_000
STATUSES = {
    AuditStatus.OK: (Text("Done"), "good"),
    AuditStatus.APPROVED: (Text("Approved and done"), "good"),
    AuditStatus.PENDING_APPROVAL: (Text("Waits for approval"), "wait"),
    AuditStatus.REJECTED: (Text("Rejected"), "bad"),
    AuditStatus.EXPIRED: (Text("Approval expired"), "off"),
    AuditStatus.TOOL_ERROR: (Text("Refused by the tool"), "bad"),
    AuditStatus.INVALID_ARGUMENTS: (Text("Invalid arguments"), "bad"),
    AuditStatus.UNKNOWN_TOOL: (Text("Unknown tool"), "bad"),
    AuditStatus.DENIED_SCOPE: (Text("Scope missing"), "bad"),
    AuditStatus.DENIED_LEVEL: (Text("Level too low"), "bad"),
    AuditStatus.DENIED_CONFIRM: (Text("Not confirmed"), "bad"),
    AuditStatus.DENIED_BUDGET: (Text("Budget used up"), "bad"),
    AuditStatus.DENIED_RATE: (Text("Too many calls"), "bad"),
    AuditStatus.DENIED_EMAIL: (Text("Email not allowed"), "bad"),
    AuditStatus.INTERNAL_ERROR: (Text("Internal error"), "bad"),
}


@get("/admin/audit")
async def show_audit(request: Request, work: Work, user: User) -> Response:
    query = _read_query(request, user)
    found, has_more = await list_audit_page(work, _filter(query), page=query.page, limit=ROWS)
    return _audit_page(user, query, found, has_more=has_more)


@get("/admin/audit/export.csv")
async def export_audit(request: Request, work: Work, user: User) -> Response:
    query = _read_query(request, user)
    found = await list_audited_calls(work, _filter(query), page=1, limit=MAX_ROWS)
    body = await asyncio.to_thread(_write, found)
    return send_csv(f"tool-audit-{words.day(work.now, user.zone)}.csv", body)


@post("/admin/audit/verify", transaction="none")
async def verify_audit(request: Request, work: Work, user: User) -> Response:
    """Check every record against the one before it."""
    query = _read_query(request, user)
    verified = await verify(work.runtime)
    found, has_more = await list_audit_page(work, AuditFilter(), page=1, limit=ROWS)
    return _audit_page(user, query, found, has_more=has_more, verified=verified)


def _audit_page(
    user: User, query: ListQuery, found: list[CallRecord], *, has_more: bool, verified: object = None
) -> Response:
    return page(
        "admin/audit.html",
        user,
        here="/admin/audit",
        query=query,
        pager=query.pager_of_uncounted(has_more=has_more),
        form=query.form,
        rows=found,
        results=STATUSES,
        agents={slug: entry.name for slug, entry in ROSTER.items()},
        tools=[(name, name) for name in sorted(BY_NAME)],
        statuses={status.value: name for status, (name, _) in STATUSES.items()},
        export=query.link("/admin/audit/export.csv"),
        verified=verified,
    )


def _read_query(request: Request, user: User) -> ListQuery:
    choices = {"agent": list(ROSTER), "tool": list(BY_NAME), "status": [each.value for each in AuditStatus]}
    return read_list_query(request, user, "/admin/audit", "agent", "tool", "status", "from", "to", choices=choices)


def _filter(query: ListQuery) -> AuditFilter:
    return AuditFilter(
        agent=query["agent"] or None, tool=query["tool"] or None, status=query["status"] or None, span=query.span
    )


def _write(found: list[CallRecord]) -> bytes:
    """Write one line for each call, with the names that the API has for its fields."""
    names = CallRecord.__struct_fields__
    return write_csv(names, (_cells(record, names) for record in found))


def _cells(record: CallRecord, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        cell = iso(record.at) if name == "at" else getattr(record, name)
        yield "" if cell is None else str(cell)


@get("/admin/log")
async def show_platform_log(request: Request, work: Work, user: User) -> Response:
    query = _read_log_query(request, user)
    found = await list_changes(work, None, read_change_filter(query), before_id=read_before(request), limit=ROWS + 1)
    return page(
        "admin/log.html",
        user,
        here="/admin/log",
        query=query,
        form=query.form,
        actions=PLATFORM_ACTIONS,
        rows=describe_changes(found[:ROWS], user),
        older=query.link(before=found[ROWS - 1].id) if len(found) > ROWS else None,
        export=query.link("/admin/log.csv"),
        days_kept=work.runtime.settings.keep_changes_days,
    )


@get("/admin/log.csv")
async def export_platform_log(request: Request, work: Work, user: User) -> Response:
    wanted = read_change_filter(_read_log_query(request, user))
    found = await list_changes(work, None, wanted, limit=MAX_ROWS)
    body = await asyncio.to_thread(write_log, found, user, locale_of(request))
    return send_csv(f"platform-changes-{words.day(work.now, user.zone)}.csv", body)


def _read_log_query(request: Request, user: User) -> ListQuery:
    fields = ("q", "action", "from", "to")
    return read_list_query(request, user, "/admin/log", *fields, choices={"action": PLATFORM_ACTIONS})
