"""No stored text becomes markup, no form of another site is taken, and every form names its organization."""

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest

import openslot.web
from openslot.change_log.models import ChangeAction, ChangeAuthor, NewChange
from openslot.change_log.operations import log_change
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from openslot.routing import collect
from tests.support.forms import from_other_sites
from tests.support.host import Book
from tests.support.hostile_text import CORPUS, check_pages
from tests.support.name_server import FakeResolver
from tests.web.organization.conftest import Harbor, count_changes
from tests.web.organization.driving import FORMS, fill, set_stage
from tests.web.organization.support import COSTS, invite, link_of

TEMPLATES = Path(openslot.web.__file__).parent / "templates" / "organization"


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_text_is_escaped_everywhere(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book, text: str
) -> None:
    stage = await set_stage(runtime, harbor, resolver, book)
    await book(name=text, host=harbor.member)
    pool = runtime.pool
    await pool.execute("update organizations set name = $1", text)
    await pool.execute("update users set name = $1", text)
    await pool.execute("update scim_tokens set name = $1", text)
    await pool.execute("update event_types set name = $1", text)
    await pool.execute(
        "insert into brands (id, organization_id, name, updated_at) values (gen_random_uuid(), $1, $2, now())",
        harbor.organization.id,
        text,
    )
    await pool.execute(
        """insert into scim_requests (token_id, at, method, path, status, user_name, detail)
        values ($1, now(), 'GET', $2, 400, $2, $2)""",
        stage.token,
        text,
    )
    async with runtime.transaction(OPERATOR) as work:
        await log_change(
            work,
            NewChange(
                action=ChangeAction.BRAND_CHANGED,
                author=ChangeAuthor(name=text, email=text, address=text),
                subject=text,
                organization_id=harbor.organization.id,
                before={"name": text},
                after={"name": text + text, text: text},
            ),
        )
    await pool.execute("update change_log set action = $1 where id = (select max(id) from change_log)", text)
    paths = [stage.path(path) for path in COSTS if not path.endswith(".csv")]
    paths += [f"/organization/members/{harbor.id_of(harbor.member)}/remove", f"/organization/members?q={text}"]
    paths += [f"/organization/log?q={text}", f"/organization/provisioning/log?user={text}&path={text}"]
    pages = [await owner.get(path) for path in paths]
    assert {page.status_code for page in pages} == {200}
    assert check_pages(pages) > 15


async def test_what_is_typed_wrongly_is_shown_again_escaped(owner: httpx2.AsyncClient, harbor: Harbor) -> None:
    del harbor
    for text in CORPUS:
        for path, field in (
            ("/organization/members", "email"),
            ("/organization/domains", "domain"),
            ("/organization/settings/brand", "color"),
            ("/organization/settings/names", "slug"),
        ):
            answer = await owner.post(path, data={field: text, "name": text})
            assert answer.status_code == 400, (path, text)
            assert check_pages([answer]) == 1, (path, text)


async def test_a_form_of_another_site_changes_nothing(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    stage = await set_stage(runtime, harbor, resolver, book)
    for template, headers in from_other_sites(FORMS):
        answer = await owner.post(stage.path(template), data=fill(template), headers=headers)
        assert answer.status_code == 403, (template, headers)
    assert await count_changes(runtime) == 0
    assert len(FORMS) == sum(
        "POST" in str(vars(handler)["declaration"].method) for handler in collect("openslot.web.organization")
    )


def test_every_form_names_the_organization_it_was_shown_for() -> None:
    for template in TEMPLATES.glob("*.html"):
        if template.name in {"layout.html", "new.html"}:
            continue
        for form in re.findall(r'<form [^>]*method="post".*?</form>', template.read_text(), re.DOTALL):
            assert "{{ csrf_field() }}{{ ours() }}" in form, (template.name, form)


async def test_names_that_look_like_links_become_none(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    text = "Pay http://evil.example/x www.evil.com evil.io/x"
    stage = await set_stage(runtime, harbor, resolver, book)
    await book(name=text, host=harbor.member)
    pool = runtime.pool
    for table in ("organizations", "users", "event_types"):
        await pool.execute(f"update {table} set name = $1", text)
    # The page that deletes an organization shows the name that has to be typed, as it is.
    paths = [path for path in COSTS if not path.endswith((".csv", "/delete"))]
    paths += [f"/organization/members/{harbor.id_of(harbor.member)}/remove"]
    paths += [f"/bookings/{await pool.fetchval('select id from bookings limit 1')}", "/bookings", "/"]
    pages = [await owner.get(stage.path(path)) for path in paths]
    await invite(owner, "stranger@x.example")
    pages.append(await owner.get(await link_of(runtime, "stranger@x.example")))
    host = f"/{harbor.member.username}"
    slug = await pool.fetchval("select slug from event_types where owner_id = $1", harbor.member.id)
    pages += [await owner.get(host), await owner.get(f"{host}/{slug}")]
    shown = [read_text(page.text) for page in pages]

    assert sum("evil.\u2060io" in each for each in shown) > 15
    for page, each in zip(pages, shown, strict=True):
        assert not re.search(r"://evil|www\.evil|evil\.io", each), page.url


class Words(HTMLParser):
    """What a page shows as text; fields keep what is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "style", "textarea", "option"}:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.words.append(data)


def read_text(page: str) -> str:
    """Read the text of a page as a person does."""
    words = Words()
    words.feed(page)
    return " ".join(words.words)
