"""Contacts, imports, conversations and calls in a real browser: by hand, on a phone, without scripts, and for axe."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.conversations.models import MessageDirection, MessageStatus
from openslot.platform.core.work import Runtime
from tests.doors.web.contacts.conftest import PHONE, Add, Ring, Say
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MONDAY
from tests.support.contact_imports import bring_in, run_imports, start, upload
from tests.support.host import Book
from tests.support.page_checks import CHECKED, check_pages, unfold

FILE = "Vorname;Nachname;E-Mail;Telefon\nZoë;Müller;zoe@mueller.example;\nNo;Body;nobody;\n"
LONG = "With-A-Very-Long-Name-That-Does-Not-Break-Anywhere-At-All-On-A-Phone"


@pytest.fixture
async def busy(runtime: Runtime, user: User, add: Add, say: Say, ring: Ring, book: Book) -> list[str]:
    """Give a host all that these pages show, and return their addresses."""
    contact = await add(
        f"Hana {LONG}", "hana@kim.example", phone=PHONE, company=LONG, notes=f"One\n{LONG}", tags=(LONG[:50],)
    )
    await book(email="hana@kim.example")
    await say(f"Where do I park? {LONG}")
    thread = await say("Lost", direction=MessageDirection.OUTBOUND, status=MessageStatus.FAILED)
    call = await ring(agent_name=LONG, at=MONDAY - timedelta(days=40))
    await runtime.pool.execute("update calls set recording = 'sealed', transcript = 'sealed'")
    done, draft = await bring_in(runtime, user, FILE + f"{LONG};x;{LONG};\n"), await upload(runtime, user, FILE)
    running = await start(runtime, user, f"Name,Email\n{LONG},a@x.example\n".encode("cp1252"))
    return [
        "/contacts",
        "/contacts?q=nobody",
        "/contacts/new",
        f"/contacts/{contact.id}",
        f"/contacts/{contact.id}/edit",
        f"/contacts/{contact.id}/delete",
        "/contacts/import",
        f"/contacts/imports/{draft.id}",
        f"/contacts/imports/{running.id}",
        f"/contacts/imports/{running.id}/delete",
        f"/contacts/imports/{done.id}",
        "/conversations",
        "/conversations?from=x&to=y",
        f"/conversations/{thread.conversation_id}",
        f"/conversations/{thread.conversation_id}/delete",
        "/calls",
        "/calls?q=nobody",
        f"/calls/{call.id}",
        f"/calls/{call.id}/delete",
    ]


async def visit(page: Page, busy: list[str]) -> AsyncIterator[str]:
    """Go through all pages."""
    for path in busy:
        await page.goto(path)
        await unfold(page, "details.curl")
        yield path


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, busy: list[str]
) -> None:
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, busy), "contacts")
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_imports_a_file_and_looks_after_a_contact(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, *, scripts: bool
) -> None:
    options: dict[str, Any] = {"java_script_enabled": scripts}
    page, faults = await open_as(browser, client, runtime, user, **options)
    await page.goto("/contacts")
    await page.get_by_role("link", name="Import", exact=True).click()
    file: FilePayload = {"name": "people.csv", "mimeType": "text/csv", "buffer": FILE.encode("cp1252")}
    await page.get_by_label("CSV file").set_input_files(file)
    await page.get_by_role("button", name="Upload").click()
    await expect(page.get_by_text("it was read as Windows-1252")).to_be_visible()
    await expect(page.get_by_label("Vorname")).to_have_value("first_name")
    await page.get_by_label("Telefon").select_option("notes")
    await page.get_by_role("button", name="Start the import").click()
    await expect(page.get_by_role("heading", name="Import is running")).to_be_visible()
    await run_imports(runtime)
    # Nobody reloads the page: it does so itself.
    await expect(page.get_by_role("heading", name="Import finished")).to_be_visible(timeout=20_000)
    await expect(page.get_by_role("row", name="nobody")).to_contain_text("is not a valid email address")
    await page.get_by_role("link", name="Show contacts").click()
    await page.get_by_role("link", name="Zoë Müller").click()
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Company (optional)").fill("Müller & Co")
    await page.get_by_role("button", name="Save").first.click()
    await expect(page.get_by_role("status")).to_contain_text("The contact was changed.")
    await expect(page.get_by_text("Müller & Co")).to_be_visible()
    await page.get_by_role("link", name="Book a meeting").click()
    await expect(page.get_by_label("Email address of the invitee")).to_have_value("zoe@mueller.example")
    await page.go_back()
    await page.get_by_role("link", name="Delete…").click()
    await page.get_by_role("button", name="Delete this contact").click()
    await expect(page.get_by_role("status")).to_contain_text("The contact was deleted.")
    await expect(page.get_by_text("You have no contacts yet.")).to_be_visible()
    assert faults == []
