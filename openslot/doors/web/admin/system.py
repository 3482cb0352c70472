"""Pages: the installation: what the doctor finds, its version, its settings, and its backups."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, structs

from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.doctor.finding import FindingState
from openslot.domains.doctor.running import examine_running
from openslot.domains.oauth.models import MICROSOFT_LASTING, PERMISSIONS, OAuthVendor, find_client, redirect_uri
from openslot.doors.web.admin.agent_charts import write_usd
from openslot.doors.web.admin.change_log import log_platform
from openslot.doors.web.shared.downloads import as_attachment
from openslot.doors.web.shared.pages import NOT_KEPT, page, redirect
from openslot.platform.backups.create import backups_directory, create_backup, find_backups
from openslot.platform.core.build import describe_version
from openslot.platform.core.config import SECRET, Networks, Settings, environment_name
from openslot.platform.core.dollars import Dollars, DollarsByName
from openslot.platform.core.errors import NotFound, StartupError
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response, Stream, get, post

MASK = "••••••••"
PIECE = 1 << 18
STATES = {
    FindingState.OK: (Text("Good"), "good"),
    FindingState.WARNING: (Text("Warning"), "warn"),
    FindingState.PROBLEM: (Text("Problem"), "bad"),
}
NOTICES = {"backup": Text("The backup was created.")}


class SettingRow(Struct, frozen=True, kw_only=True):
    name: str
    value: str | None
    """None if it is not set."""
    is_default: bool
    meaning: str


@get("/admin/system")
async def show_system(work: Work, user: User) -> Response:
    return await _system_page(work, user)


@post("/admin/system/backups", transaction="none")
async def create_backup_now(request: Request, work: Work, user: User) -> Response:
    """Create a backup on the machine that answers; the service keeps running."""
    try:
        path, _ = await create_backup(work.runtime.settings, None)
    except StartupError as fault:
        return await _system_page(work, user, problem=str(fault))
    async with work.transaction():
        await log_platform(work, request, user, ChangeAction.BACKUP_CREATED, path.name)
    return redirect("/admin/system?done=backup#backups")


@get("/admin/system/backups/{name}")
async def download_backup(request: Request, work: Work, user: User, name: str) -> Response:
    """Send a backup as a file, piece by piece; it holds everything, so the log says who has taken it."""
    for backup in await asyncio.to_thread(find_backups, work.runtime.settings):
        if backup.file.name == name:
            headers = {"content-type": "application/x-tar", "content-disposition": as_attachment(name)}
            async with work.transaction():
                await log_platform(work, request, user, ChangeAction.BACKUP_DOWNLOADED, name)
            stream = Stream(size=backup.size, pieces=_read_pieces(backup.file))
            return Response(headers={**NOT_KEPT, **headers}, body=stream)
    raise NotFound


@get("/admin/system/google")
async def show_google_setup(work: Work, user: User) -> Response:
    """Show what to enter at Google so that hosts can connect their calendars, and what goes wrong."""
    return _setup_page(work, user, OAuthVendor.GOOGLE)


@get("/admin/system/microsoft")
async def show_microsoft_setup(work: Work, user: User) -> Response:
    """Show what to enter at Microsoft so that hosts can connect their calendars, and what goes wrong."""
    return _setup_page(work, user, OAuthVendor.MICROSOFT)


def _setup_page(work: Work, user: User, vendor: OAuthVendor) -> Response:
    settings = work.runtime.settings
    address = redirect_uri(settings, vendor)
    return page(
        f"admin/{vendor}.html",
        user,
        here="/admin/system",
        is_set=find_client(settings, vendor) is not None,
        is_secure=address.startswith("https://") or urlsplit(address).hostname in {"localhost", "127.0.0.1"},
        redirect_address=address,
        permissions=PERMISSIONS[vendor],
        tenant=settings.microsoft_tenant,
        lasting=MICROSOFT_LASTING,
    )


async def _system_page(work: Work, user: User, *, problem: str | None = None) -> Response:
    settings = work.runtime.settings
    findings = await examine_running(work.runtime)
    backups = await asyncio.to_thread(find_backups, settings)
    return page(
        "admin/system.html",
        user,
        here="/admin/system",
        status=503 if problem else 200,
        notices=NOTICES,
        problem=problem,
        version=describe_version(),
        findings=findings,
        states=STATES,
        backups=backups,
        directory=str(backups_directory(settings).absolute()),
        settings=list_settings(settings),
    )


def list_settings(settings: Settings) -> list[SettingRow]:
    """List all settings as they are in force; of secrets, only whether they are set."""
    rows = []
    for field in structs.fields(Settings):
        value = getattr(settings, field.name)
        rows.append(
            SettingRow(
                name=environment_name(field.name),
                value=MASK if field.name in SECRET and value is not None else _write(value),
                is_default=value == field.default,
                meaning=_meaning(field.type),
            )
        )
    return rows


def _write(value: object) -> str | None:
    """Write a setting as an operator would; None if there is nothing to write."""
    if isinstance(value, DollarsByName):
        return ", ".join(f"{name}={write_usd(amount)}" for name, amount in value) or None
    if isinstance(value, Dollars):
        return write_usd(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Networks):
        return ", ".join(map(str, value)) or None
    return None if value is None else str(value)


def _meaning(kind: object) -> str:
    marks = getattr(kind, "__metadata__", ())
    return next((mark.description for mark in marks if getattr(mark, "description", None)), "")


async def _read_pieces(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as source:
        while piece := await asyncio.to_thread(source.read, PIECE):
            yield piece
