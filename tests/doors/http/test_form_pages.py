"""Pages that show their form again: with faults at their fields, from what is stored, and with the right status."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import httpx2
import msgspec
import pytest
from msgspec import Meta, Struct

from openslot.app import create_app
from openslot.doors.http.handlers import read_handler
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Conflict, Invalid, NotFound, Refusal
from openslot.platform.core.work import Runtime, Work
from openslot.platform.routing import Form, Response, WhenEmpty, find_declaration, get, post
from tests.support.live import connect, serving

NOTE = -2


class NoteForm(Struct, frozen=True, kw_only=True):
    """A note, and how its handler refuses it."""

    text: Annotated[str, Meta(max_length=5), WhenEmpty("Enter a note")]
    refusal: str = ""


class OtherForm(Struct, frozen=True, kw_only=True):
    """Another form of the same page."""

    text: str = ""


REFUSALS: dict[str, Refusal] = {
    "fields": Invalid(details={"note": "is taken"}),
    "conflict": Conflict("Too late"),
    "nowhere": NotFound(),
}


@get("/probe-forms/{name}")
async def show_form(work: Work, name: str, form: Form[Any] = Form()) -> Response:
    """Say what the form was shown with, and what is stored."""
    if name == "gone":
        return Response(status=303, headers={"location": "/"})
    stored = await work.db.fetchval("select count(*) from lanes where unfinished = $1", NOTE)
    note, other = form.of(NoteForm), form.of(OtherForm)
    begun = note.begin({"text": "begun"})
    shown = {"name": name, "text": begun["text"], "faults": note.faults, "other": other.faults, "stored": stored}
    return Response(headers={"content-type": "application/json"}, body=msgspec.json.encode(shown, enc_hook=str))


async def store(work: Work, form: Form[NoteForm]) -> Response:
    """Write, and refuse as the form says."""
    sent = form.get()
    await work.db.execute("insert into lanes (lane, unfinished) values ($1, $2)", sent.text, NOTE)
    if sent.refusal:
        raise REFUSALS[sent.refusal]
    return Response(status=303, headers={"location": "/"})


@post("/probe-forms/{name}", shows=show_form, at={Conflict: "form"}, names={"note": "text"})
async def send_form(work: Work, name: str, form: Form[NoteForm]) -> Response:
    return await store(work, form)


@post("/probe-forms/{name}/own", shows=show_form, at={Conflict: "form"}, own_status=True)
async def send_with_own_status(work: Work, name: str, form: Form[NoteForm]) -> Response:
    return await store(work, form)


@pytest.fixture
async def probe(settings: Settings, runtime: Runtime) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(settings, more_routes=(show_form, send_form, send_with_own_status))
    async with serving(app) as url, connect(url, timeout=20) as client:
        yield client


def shown(faults: dict[str, str], *, text: str, stored: int = 0) -> dict[str, object]:
    return {"name": "one", "text": text, "faults": faults, "other": {}, "stored": stored}


async def test_a_page_begins_its_form(probe: httpx2.AsyncClient) -> None:
    answer = await probe.get("/probe-forms/one")

    assert (answer.status_code, answer.json()) == (200, shown({}, text="begun"))


@pytest.mark.parametrize(
    ("sent", "faults"),
    [
        ({"text": ""}, {"text": "Enter a note"}),
        ({"text": "too long"}, {"text": "must have at most 5 characters"}),
        ({"text": "a", "refusal": "fields"}, {"text": "is taken"}),
        ({"text": "a", "refusal": "conflict"}, {"form": "Too late"}),
    ],
)
async def test_faults_are_shown_at_their_fields_with_what_was_typed_and_nothing_is_stored(
    probe: httpx2.AsyncClient, sent: dict[str, str], faults: dict[str, str]
) -> None:
    answer = await probe.post("/probe-forms/one", data=sent)

    assert (answer.status_code, answer.json()) == (400, shown(faults, text=sent["text"]))


async def test_what_is_not_refused_is_stored(probe: httpx2.AsyncClient) -> None:
    answer = await probe.post("/probe-forms/one", data={"text": "a"})

    assert answer.status_code == 303
    assert (await probe.get("/probe-forms/one")).json()["stored"] == 1


@pytest.mark.parametrize(("refusal", "status"), [("fields", 400), ("conflict", 409)])
async def test_a_page_may_have_the_status_of_the_refusal(probe: httpx2.AsyncClient, refusal: str, status: int) -> None:
    answer = await probe.post("/probe-forms/one/own", data={"text": "a", "refusal": refusal})

    assert answer.status_code == status
    assert answer.json()["faults"]


async def test_a_refusal_without_a_place_on_the_page_is_the_doors(probe: httpx2.AsyncClient) -> None:
    answer = await probe.post("/probe-forms/one", data={"text": "a", "refusal": "nowhere"})

    assert answer.status_code == 404
    assert answer.headers["x-error-code"] == "not_found"


async def test_a_page_may_answer_that_there_is_no_form_any_more(probe: httpx2.AsyncClient) -> None:
    answer = await probe.post("/probe-forms/gone", data={"text": ""})

    assert answer.status_code == 303


def test_a_page_that_asks_for_what_nobody_gives_is_refused_at_the_start() -> None:
    async def show(color: str, form: Form[NoteForm] = Form()) -> Response:
        return Response()

    @post("/probe-forms", shows=show)
    async def send(form: Form[NoteForm]) -> Response:
        return Response()

    declaration = find_declaration(send)
    assert declaration is not None
    with pytest.raises(TypeError, match="show asks for color"):
        read_handler(send, declaration, "/probe-forms")
