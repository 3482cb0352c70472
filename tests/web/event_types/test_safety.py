"""No page shows another host's event types, no form of another site is taken, and no stored text becomes markup."""

from collections.abc import Iterator

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from openslot.routing import collect, find_declaration
from tests.support.forms import NOBODY, from_other_sites
from tests.support.hostile_text import CORPUS, check_pages
from tests.web.event_types.conftest import list_names, load, offer, read_fields


def paths(method: str, event_type: object = NOBODY) -> Iterator[str]:
    for handler in collect("openslot.web.dashboard.event_types"):
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            yield declaration.path.replace("{event_type_id}", str(event_type))


def test_every_page_is_known_here() -> None:
    assert (len(list(paths("GET"))), len(list(paths("POST")))) == (15, 17)


async def test_a_form_of_another_site_is_refused_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    fields = {**read_fields((await member.get(f"/event-types/{intro.id}")).text), "name": "Evil", "slug": "evil"}
    for path, headers in from_other_sites(paths("POST", intro.id)):
        answer = await member.post(path, data=fields, headers=headers)
        assert answer.status_code == 403, (path, headers)
    assert await list_names(runtime, user) == ["30 minute meeting"]
    assert await load(runtime, user, intro) == intro


async def test_without_a_session_every_page_asks_to_sign_in(client: httpx2.AsyncClient, intro: EventType) -> None:
    for path in paths("GET", intro.id):
        assert (await client.get(path)).headers["location"].startswith("/login")
    for path in paths("POST", intro.id):
        assert (await client.post(path, data={"name": "x"})).headers["location"] == "/login?next=/"


async def test_another_hosts_event_type_is_the_same_404_as_none(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    theirs = await load(runtime, stranger, await offer(runtime, stranger, "theirs", is_private=True))
    for method in ("GET", "POST"):
        for path, nothing in zip(paths(method, theirs.id), paths(method), strict=True):
            if path == nothing:
                continue
            data = {"name": "Mine", "before": "", "act": "add"} if method == "POST" else None
            answer = await member.request(method, path, data=data)
            other = await member.request(method, nothing, data=data)

            assert answer.status_code == 404, (method, path)
            assert answer.text == other.text
    assert await load(runtime, stranger, theirs) == theirs
    assert "Theirs" not in (await member.get("/event-types")).text


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_text_stays_text(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType, text: str
) -> None:
    old = await offer(runtime, user, "old", active=False)
    fields = read_fields((await member.get(f"/event-types/{intro.id}")).text)
    fields |= {"questions.0.kind": "choice"}
    await spoil(runtime, user, text)
    targets = [intro.id, old.id]
    pages = [await member.get(path) for target in targets for path in paths("GET", target)]
    pages += [await member.get(f"/event-types{query}") for query in ("?view=archived", "?done=archived&id=%22%3E%3Cx")]
    pages.append(await member.get(f"/event-types/new?from={intro.id}"))
    pages.append(await member.get(f"/event-types/{intro.id}/embed?theme=%22%3E%3Cxss-probe%3E&mode=%22%3E"))
    sent = dict.fromkeys(fields, text) | {"questions.0.label": text, "questions.0.options": text}
    await member.post(f"/event-types/{intro.id}/links", data={"uses": "1", "note": text[:200]})
    pages.append(await member.get(f"/event-types/{intro.id}/links"))
    pages.append(await member.post(f"/event-types/{intro.id}/links", data={"uses": text, "ends": text, "note": text}))
    asked = f"/event-types/{intro.id}/questions"
    pages += [await member.post(path, data=sent) for path in (f"/event-types/{intro.id}", "/event-types", asked)]
    pages.append(await member.post(asked, data={**sent, "act": "add"}))
    typed = {**fields, "name": text, "description": text, "locations.0.text": text, "questions.0.label": text}
    pages.append(await member.post(f"/event-types/{intro.id}", data=typed))
    pages.append(await member.post(f"/event-types/{intro.id}/preview", data=typed))
    pages.append(await member.post(f"{asked}/preview", data={**typed, "questions.0.options": text}))
    assert check_pages(pages) > 15


async def spoil(runtime: Runtime, user: User, text: str) -> None:
    """Put a text into every field that a page of event types shows, past every check."""
    await runtime.pool.execute(
        """update event_types set name = $1, description = $1,
            location = jsonb_build_object('kind', 'in_person', 'value', $1::text),
            questions = jsonb_build_array(jsonb_build_object('key', 'a', 'label', $1::text, 'kind', 'choice',
                'options', jsonb_build_array($1::text))),
            price = jsonb_build_object('amount', 1, 'currency', 'EUR')""",
        text,
    )
    await runtime.pool.execute("update schedules set name = $1", text)
    await runtime.pool.execute("update users set name = $2 where id = $1", user.id, text)
