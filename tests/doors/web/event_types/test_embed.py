"""The code for other sites: what the documentation says, for every mode and look."""

import re
from html import unescape
from pathlib import Path

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import offer
from tests.support.page import read_page
from tests.support.private_tokens import get_private_token

DOCUMENTED = Path(__file__).parents[4] / "docs/widget.md"


def read_code(page: str, mode: str) -> str:
    found = re.search(rf'<pre id="code-{mode}"[^>]*><code>(.*?)</code></pre>', page, re.DOTALL)
    assert found is not None
    return unescape(found[1])


async def embed(member: httpx2.AsyncClient, event_type: EventType, query: str = "") -> str:
    answer = await member.get(f"/event-types/{event_type.id}/embed{query}")
    assert answer.status_code == 200
    return answer.text


async def test_the_code_is_the_documented_one(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    talk = await offer(runtime, user, "intro-call")
    code = read_code(await embed(member, talk), "popup")
    example = re.search(r"```html\n(.*?)\n```", DOCUMENTED.read_text(), re.DOTALL)
    assert example is not None
    documented = example[1].replace("https://book.example", "http://127.0.0.1:8000")

    assert code == documented.replace("Book an intro call", "Book “Intro-Call” with Mara Lindqvist")


LOOKS: list[tuple[str, str, str]] = [
    ("", "inline", "<openslot-booking>"),
    ("", "popup", '<openslot-booking mode="popup">'),
    ("", "floating", '<openslot-booking mode="floating">'),
    ("?theme=dark", "inline", '<openslot-booking theme="dark">'),
    ("?position=start", "floating", '<openslot-booking mode="floating" position="start">'),
    ("?position=start", "popup", '<openslot-booking mode="popup">'),
    ("?own_color=on&accent=%23AA00FF", "inline", '<openslot-booking accent="aa00ff">'),
    ("?accent=%23aa00ff", "inline", "<openslot-booking>"),
    ("?language=ar", "popup", '<openslot-booking mode="popup" lang="ar">'),
    ("?theme=x&position=x&language=x&own_color=on&accent=%22%3E%3Cx", "inline", "<openslot-booking>"),
]


async def test_the_look_is_written_as_attributes(member: httpx2.AsyncClient, intro: EventType) -> None:
    for query, mode, element in LOOKS:
        assert element in read_code(await embed(member, intro, query), mode).splitlines(), (query, mode)


async def test_the_link_speaks_the_chosen_language(member: httpx2.AsyncClient, intro: EventType) -> None:
    code = read_code(await embed(member, intro, "?language=de"), "inline")

    assert "„30 minute meeting“ mit Mara Lindqvist buchen" in code


async def test_names_are_escaped_in_the_code_itself(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    talk = await offer(runtime, user, "talk", name='</a><script>alert("1")</script> & more')
    code = read_code(await embed(member, talk), "inline")

    assert "&lt;/a&gt;&lt;script&gt;" in code
    assert code.count("<script") == 1


async def test_a_private_ones_code_has_the_token_and_says_so(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    hidden = await offer(runtime, user, "hidden", is_private=True)
    token = await get_private_token(runtime.work(OPERATOR), hidden)
    page = await embed(member, hidden)

    assert f'href="http://127.0.0.1:8000/mara/hidden?token={token}"' in read_code(page, "inline")
    assert read_code(page, "link") == f"http://127.0.0.1:8000/mara/hidden?token={token}"
    assert f"/mara/hidden/qr?token={token}" in page
    assert "The code contains the private link" in page


@pytest.mark.parametrize("mode", ["inline", "popup", "floating"])
async def test_a_page_shows_the_widget_as_on_another_site(
    member: httpx2.AsyncClient, intro: EventType, mode: str
) -> None:
    answer = await member.get(f"/event-types/{intro.id}/embed/try?mode={mode}&theme=dark")

    attributes = (f' mode="{mode}"' if mode != "inline" else "") + ' theme="dark"'
    assert f'<openslot-booking{attributes}><a href="/mara/30min">' in answer.text
    assert "frame-src 'self'" in answer.headers["content-security-policy"]
    assert "bookings made here are real" in read_page(answer).text


async def test_an_archived_one_can_not_be_tried(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    old = await offer(runtime, user, "old", active=False)

    assert "This event type is archived" in await embed(member, old)
    assert (await member.get(f"/event-types/{old.id}/embed/try")).headers["location"] == f"/event-types/{old.id}/embed"
