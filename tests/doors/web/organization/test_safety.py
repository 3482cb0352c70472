"""Every form names its organization, and no name becomes a link."""

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx2

import openslot.doors.web
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor
from tests.doors.web.organization.driving import set_stage
from tests.doors.web.organization.support import COSTS, invite, link_of
from tests.support.host import Book
from tests.support.name_server import FakeResolver

TEMPLATES = Path(openslot.doors.web.__file__).parent / "templates" / "organization"


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
