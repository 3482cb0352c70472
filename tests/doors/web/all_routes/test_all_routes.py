"""No route shows its page without a session, and no stored or typed text becomes markup: a new page joins by itself."""

import re
from collections.abc import Mapping

import httpx2
import pytest

from openslot.platform.core.work import Runtime
from tests.doors.web.all_routes.forms import PageForm, list_bodies, read_forms
from tests.doors.web.all_routes.paths import WebRoute, fill, find_route, list_routes
from tests.doors.web.all_routes.public import AT_A_PROVIDER, ELSEWHERE, PUBLIC
from tests.doors.web.all_routes.spoiling import spoil
from tests.doors.web.all_routes.stage import ASKED, MORE
from tests.support.hostile_text import CALCULATED, CORPUS, WHOLE, check_pages
from tests.support.table_contents import read_tables

PAGES, FORMS = [[each for each in list_routes(method) if str(each) not in AT_A_PROVIDER] for method in ("GET", "POST")]


async def test_without_a_session_every_page_but_the_public_ones_asks_to_sign_in(
    client: httpx2.AsyncClient, runtime: Runtime, values: dict[str, str]
) -> None:
    before = await read_tables(runtime)
    shown = set()
    for route in list_routes("GET"):
        answer = await client.get(fill(route, values))
        if not answer.headers.get("location", "").startswith("/login"):
            shown.add(route.path)
    for route in list_routes("POST"):
        if route.needs_session:
            answer = await client.post(fill(route, values), data={"name": "Eve"})
            assert (answer.status_code, answer.headers.get("location")) == (303, "/login?next=/"), route

    assert shown == {path for paths in PUBLIC.values() for path in paths}
    changed = await read_tables(runtime)
    assert {name for name in before if before[name] != changed[name]} <= {"page_views"}


@pytest.mark.rest("fills every column and form, and opens every page")
async def test_stored_text_and_typed_text_stay_text_on_every_page(
    member: httpx2.AsyncClient, runtime: Runtime, values: dict[str, str]
) -> None:
    spoilt = await spoil(runtime, WHOLE)
    forms: dict[WebRoute, list[PageForm]] = {}
    seen = 0
    for route in PAGES:
        path = fill(route, values)
        page = await member.get(path)
        assert page.status_code == ELSEWHERE.get(str(route), 200), route
        seen += check(page)
        if is_page(page):
            keep_forms(forms, page.text, path)
    for address in MORE:
        page = await member.get(address.format_map(values))
        assert (page.status_code, check(page)) == (200, True), page.url
    for path, sent in ASKED.items():
        seen += check(await member.post(path, data={name: value.format_map(values) for name, value in sent.items()}))

    assert seen > 170
    assert len(spoilt) > 150, sorted(spoilt)
    assert {"change_log.after", "change_log.actor_name"} <= spoilt
    assert await count_answers(member, runtime, values, forms) > 150


def keep_forms(forms: dict[WebRoute, list[PageForm]], html: str, path: str) -> None:
    """Keep the forms of a page by the route that they are sent to."""
    for form in read_forms(html, path):
        if form.method == "DIALOG":
            continue
        target = find_route(form.method, re.split("[?#]", form.action)[0])
        assert target is not None, f"{path} has a form that leads to {form.action}, where nothing is"
        forms.setdefault(target, []).append(form)


async def count_answers(
    client: httpx2.AsyncClient, runtime: Runtime, values: Mapping[str, str], forms: Mapping[WebRoute, list[PageForm]]
) -> int:
    """Type texts into every form and every search, and count the answers that show them."""
    seen = 0
    for route, asking in forms.items():
        if route.method == "GET":
            sent = {name: value for form in asking for name, value in form.fill(WHOLE, wholly=True).items()}
            seen += check(await client.get(fill(route, values), params=sent))
    # A link that signs somebody in or out ends the session of the walk, so these come last.
    for route in sorted(FORMS, key=lambda each: not each.needs_session):
        for body in list_bodies(route, forms.get(route, []), CORPUS[2], WHOLE):
            await runtime.pool.execute("delete from rate_log; delete from wrong_passwords")
            answer = await client.post(fill(route, values), **body)
            seen += check(answer)
            is_out = answer.headers.get("location", "").startswith("/login")
            assert not (is_out and route.needs_session), f"{route} has ended the session of the walk"
    return seen


def is_page(answer: httpx2.Response) -> bool:
    return answer.headers.get("content-type", "").startswith(("text/html", "image/svg"))


def check(answer: httpx2.Response) -> bool:
    """Fail if a text has become more than text; return whether a page shows one."""
    assert answer.status_code < 500, answer.url
    assert answer.status_code != 429, answer.url
    assert CALCULATED not in answer.text, answer.url
    return is_page(answer) and check_pages([answer]) > 0
