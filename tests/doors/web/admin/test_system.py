"""The system: what the doctor finds, settings without secrets, and backups that can be made and downloaded."""

import re
import tarfile
from io import BytesIO
from urllib.parse import quote

import httpx2
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.doors.web.admin.system import MASK, list_settings
from openslot.platform.backups.create import backups_directory
from openslot.platform.core.config import SECRET, Settings
from openslot.platform.core.dollars import DollarsByName
from openslot.platform.core.smtp import SmtpUrl
from openslot.platform.core.work import Runtime


def test_settings_are_shown_as_an_operator_writes_them_and_secrets_are_not(settings: Settings) -> None:
    secret = "s3cret-" * 8
    chosen = replace(
        settings,
        secret_key=secret,
        metrics_token=secret,
        oidc_client_secret=secret,
        chat_webhook=f"https://chat.example/{secret}",
        smtp_url=SmtpUrl.parse(f"smtp://user:{secret}@mail.example"),
        database_url=f"postgresql://user:{secret}@db.example/x",
        agent_budgets=DollarsByName.parse("support=0.20, seo=1.5"),
    )
    shown = {row.name: row for row in list_settings(chosen)}

    assert not any(secret in (row.value or "") for row in shown.values())
    assert shown["OPENSLOT_SECRET_KEY"].value == MASK
    assert shown["OPENSLOT_AGENT_BUDGETS"].value == "support=0.20, seo=1.50"
    assert shown["OPENSLOT_AGENT_BUDGET"].value == "5.00"
    assert shown["OPENSLOT_DATABASE_POOLER"].value == "false"
    assert shown["OPENSLOT_TRUSTED_PROXIES"].value is None
    assert all(row.meaning for row in shown.values())


def test_every_setting_that_may_hold_a_secret_is_masked() -> None:
    suspicious = re.compile("secret|token|password|url|key|webhook")
    named = {field for field in Settings.__struct_fields__ if suspicious.search(field)}

    # Addresses without a credential, and a limit.
    google = {"google_auth_url", "google_token_url", "google_api_url"}
    others = {"base_url", "hubspot_url", "images_url", "jitsi_url", "limit_key", "stripe_url", "twilio_url"}
    microsoft = {"microsoft_login_url", "microsoft_graph_url"}
    assert named - SECRET == others | google | microsoft


async def test_the_page_for_google_shows_what_to_enter_there(admin: httpx2.AsyncClient, settings: Settings) -> None:
    assert 'href="/admin/system/google"' in (await admin.get("/admin/system")).text

    page = (await admin.get("/admin/system/google")).text

    assert f'<code dir="ltr">{settings.public_url}/connect/google/callback</code>' in page
    scopes = re.findall(r"https://www\.googleapis\.com/auth/([a-z.]+)", page)
    assert scopes == ["calendar.calendarlist.readonly", "calendar.events"]
    assert "connect their Google accounts yet." in page


async def test_the_page_for_microsoft_shows_what_to_enter_there(admin: httpx2.AsyncClient, settings: Settings) -> None:
    assert 'href="/admin/system/microsoft"' in (await admin.get("/admin/system")).text

    page = (await admin.get("/admin/system/microsoft")).text

    assert f'<code dir="ltr">{settings.public_url}/connect/microsoft/callback</code>' in page
    wanted = ("User.Read", "Calendars.ReadWrite", "offline_access")
    assert [f'<code dir="ltr">{each}</code>' in page for each in wanted] == [True] * 3
    assert "<code>common</code>" in page
    assert "connect their Microsoft accounts yet." in page


async def test_the_page_tells_what_the_doctor_finds(admin: httpx2.AsyncClient) -> None:
    page = (await admin.get("/admin/system")).text

    assert "The database is up to date." in page
    assert "No worker has reported" in page
    assert "OPENSLOT_LIMIT_KEY" in page.replace("<wbr>", "")
    assert "Who can sign up: <code>open</code> for anyone" in page
    assert "`" not in page


async def test_a_backup_is_made_and_downloaded_and_the_log_says_by_whom(
    admin: httpx2.AsyncClient, runtime: Runtime, admin_user: User
) -> None:
    answer = await admin.post("/admin/system/backups", timeout=120)
    page = (await admin.get("/admin/system")).text
    link = re.search(r'href="(/admin/system/backups/[^"]+\.tar)"', page)
    assert link is not None
    file = await admin.get(link[1])

    assert answer.headers["location"] == "/admin/system?done=backup#backups"
    assert "Newest" in page
    assert file.headers["content-length"] == str(len(file.content))
    with tarfile.open(fileobj=BytesIO(file.content)) as archive:
        assert "manifest.json" in archive.getnames()
    logged = await runtime.pool.fetch("select action, actor_email from change_log order by id")
    assert [tuple(row.values()) for row in logged] == [
        ("backup.created", admin_user.email),
        ("backup.downloaded", admin_user.email),
    ]


async def test_a_backup_with_any_name_can_be_downloaded(admin: httpx2.AsyncClient, settings: Settings) -> None:
    directory = backups_directory(settings)
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("2026 March.tar", 'a"; filename=b.tar', "日本 é.tar"):
        (directory / name).write_bytes(b"x")
        file = await admin.get(f"/admin/system/backups/{quote(name, safe='')}")

        assert (file.status_code, file.content) == (200, b"x"), name
        assert file.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(name, safe='')}"


async def test_nothing_else_can_be_downloaded(admin: httpx2.AsyncClient) -> None:
    for name in ("openslot-1.tar", "..%2Fsecret.key", "secret.key", "%00"):
        assert (await admin.get(f"/admin/system/backups/{name}")).status_code in {400, 404}, name
