"""Texts of hosts, invitees and agents that try to become markup, in a real browser on the pages that show them."""

import httpx2
import pytest
from playwright.async_api import Browser, Page

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.bookings.links import manage_token
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent
from tests.support.browsers import open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, Book, cancel
from tests.support.hostile_text import CALCULATED

ELSEWHERE = "http://evil.example"
# Leaves every context that a text may stand in; what follows loads, runs, moves or restyles the page if it is markup.
HOSTILE = (
    "'\"></title></textarea></option></select></script></style><script>alert(1)</script>"
    f"<img src={ELSEWHERE}/i onerror=alert(1)><svg onload=alert(1)></svg>"
    f"<meta http-equiv=refresh content='0;url={ELSEWHERE}'><base href={ELSEWHERE}>"
    f"<link rel=stylesheet href={ELSEWHERE}/c><iframe srcdoc='<script>parent.alert(1)</script>'></iframe>"
    "<xss-probe style='position:fixed'>{{ 7 * 19100003 }}\u202e"
)
SPOIL = (
    "update users set name = $1",
    "update organizations set name = $1",
    """update event_types set name = $1, description = $1,
        location = jsonb_build_object('kind', 'in_person', 'value', $1),
        questions = jsonb_build_array(jsonb_build_object('key', 'b', 'label', $1), jsonb_build_object(
            'key', 'a', 'label', $1, 'kind', 'choice', 'options', jsonb_build_array($1)))""",
    "update schedules set name = $1",
    """insert into brands (id, user_id, name, color, updated_at)
        select gen_random_uuid(), id, $1, '#3155d9', created_at from users where username = 'mara'""",
)
WATCH = """window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective));"""
INJECTED = r"""() => {
  const script = 'script:not([src], [type="application/ld+json"])';
  const elements = `xss-probe, base, meta[http-equiv], iframe[srcdoc], ${script}, [onload], [onerror]`;
  const leads = (one) => ['href', 'src', 'action'].map((name) => one.getAttribute(name) ?? '');
  const isHostile = (address) => /^\s*(javascript:|data:text|https?:\/\/evil)/i.test(address);
  const all = [...document.querySelectorAll('[href], [src], [action]')];
  const addresses = all.filter((one) => leads(one).some(isHostile));
  return [...document.querySelectorAll(elements), ...addresses].map((one) => one.outerHTML.slice(0, 200));
}"""


@pytest.fixture
async def places(runtime: Runtime, clock: MovingClock, support: TestAgent, user: User, book: Book) -> list[str]:
    """Spoil every text, let mail be written with it, and list the pages that show it."""
    async with runtime.transaction(OPERATOR) as work:
        harbor = await organizations.add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, harbor, user, role=Role.OWNER)
    for statement in SPOIL:
        await runtime.pool.execute(statement.replace("$1", "$1::text"), HOSTILE)
    booking = await book(name=HOSTILE, notes=HOSTILE)
    gone = await book(ELEVEN, name=HOSTILE)
    await cancel(runtime, gone, reason=HOSTILE)
    await runtime.pool.execute("update contacts set company = $1, notes = $1, tags = array[$1]", HOSTILE)
    await support.call("cancel_booking", bookingId=str(booking.id), reason=HOSTILE[:500], confirm=True)
    await work_off(runtime, clock)
    letters = await runtime.pool.fetch("select id from mail_messages where content is not null")
    assert len(letters) > 2
    return [
        f"/{user.username}",
        f"/{user.username}/30min",
        f"/{user.username}/30min?start=2026-03-16T13:00:00Z&embed=1&embed_origin={ELSEWHERE}",
        *(f"/manage/{manage_token(runtime, each.id)}" for each in (booking, gone)),
        "/admin/users",
        f"/admin/users/{user.id}",
        "/admin/organizations/harbor",
        "/admin/approvals",
        "/admin/log",
        *(f"/admin/mailbox/{row['id']}{part}" for row in letters for part in ("", "/html")),
    ]


async def test_no_text_becomes_markup_leaves_the_site_or_runs(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, admin_user: User, user: User, places: list[str]
) -> None:
    found: list[str] = []
    shown = 0
    own = ["/", "/bookings", "/contacts", "/event-types", "/availability", "/settings/profile", "/organization/members"]
    for who, paths in ((admin_user, places), (user, own)):
        page, _ = await open_as(browser, client, runtime, who)
        await page.context.add_init_script(WATCH)
        page.on("dialog", lambda dialog: found.append(f"dialog: {dialog.message}"))
        page.context.on(
            "request", lambda request: found.append(request.url) if request.url.startswith(ELSEWHERE) else None
        )
        for path in paths:
            answer = await page.goto(path)
            assert answer is not None
            assert answer.status == 200, path
            shown += await look(page, path, found)

    assert found == [], found
    assert shown > 15


async def look(page: Page, path: str, found: list[str]) -> bool:
    """Collect what a page or a frame in it has become, and return whether it shows a text at all."""
    for frame in page.frames:
        # A mail is shown without scripts, so it is read and not asked.
        content = await frame.content()
        found += [f"{path}: {CALCULATED}"] if CALCULATED in content else []
        found += [f"{path}: {each}" for each in await frame.evaluate(INJECTED)]
    found += [f"{path}: policy {each}" for each in await page.evaluate("() => window.violations ?? []")]
    return "xss-probe" in await page.content()
