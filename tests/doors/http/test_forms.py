"""Forms: read into Structs like any body, with every fault at its field."""

from datetime import date
from typing import Annotated, Any
from urllib.parse import urlencode

import pytest
from msgspec import Meta, Struct

from openslot.app import doors
from openslot.doors.http.doors import Exchange
from openslot.doors.http.forms import FORMS, read_form, read_form_strictly
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE, EmailAddress, Prose
from openslot.platform.core.times import Zone
from openslot.platform.routing import File, Form, WhenEmpty

PAGES = next(door for door in doors(load_settings({}, environ={})) if door.name == "pages")
BOUNDARY = "limit"


class Hours(Struct, frozen=True):
    """A part that comes several times."""

    start: Annotated[str, Meta(pattern=LINE)]
    end: str = "17:00"


class Place(Struct, frozen=True):
    """A part that comes once."""

    street: str
    floor: Annotated[int, Meta(ge=0)] = 0


class Everything(Struct, frozen=True, kw_only=True, rename="camel"):
    """Every kind of field that a page can ask for."""

    name: Annotated[str, Meta(pattern=LINE, max_length=20), WhenEmpty("Enter a name")]
    email: EmailAddress | None = None
    zone: Zone = Zone("UTC")
    seats: Annotated[int, Meta(ge=1, le=10)] = 1
    on: date | None = None
    notes: Prose = ""
    is_public: bool
    days: Annotated[list[str], Meta(max_length=3)] = []
    numbers: list[int] = []
    place: Place | None = None
    hours: list[Hours] = []
    picture: File | None = None


def send(body: bytes, content_type: str = FORMS[0]) -> Form[Any]:
    return read_form(exchange(body, content_type), Everything)


def exchange(body: bytes, content_type: str = FORMS[0]) -> Exchange:
    made = Exchange(
        runtime=None,  # type: ignore[arg-type]
        door=PAGES,
        found=None,
        request_id="",
        method="POST",
        path="/",
        query_string=b"",
        headers={"content-type": content_type},
        address="127.0.0.1",
    )
    made.body = body
    return made


def fill(*pairs: tuple[str, str]) -> Form[Any]:
    return send(urlencode(pairs).encode())


def multipart(*parts: tuple[str, bytes]) -> Form[Any]:
    body = b"".join(
        b"--limit\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + content + b"\r\n"
        for head, content in parts
    )
    return send(body + b"--limit--\r\n", f"multipart/form-data; boundary={BOUNDARY}")


def test_what_is_left_out_or_left_empty_is_as_the_field_says() -> None:
    least = fill(("name", "Mara"))
    blank = fill(("name", "Mara"), ("email", ""), ("seats", " "), ("on", ""), ("notes", ""), ("days", ""))

    assert least.faults == blank.faults == {}
    assert least.get() == blank.get() == Everything(name="Mara", is_public=False)


def test_texts_become_what_their_fields_are() -> None:
    form = fill(
        ("name", "Mara"), ("email", " m@x.example "), ("zone", "europe/berlin"), ("seats", "7"), ("on", "2026-03-16")
    )

    assert form.get() == Everything(
        name="Mara",
        is_public=False,
        email=EmailAddress("m@x.example"),
        zone=Zone("Europe/Berlin"),
        seats=7,
        on=date(2026, 3, 16),
    )


@pytest.mark.parametrize(
    ("sent", "is_public"), [((), False), (("on",), True), (("true",), True), (("0",), False), (("0", "on"), True)]
)
def test_a_box_that_is_not_checked_is_not_sent(sent: tuple[str, ...], is_public: bool) -> None:
    form = fill(("name", "Mara"), *(("isPublic", value) for value in sent))

    assert form.get().is_public is is_public


def test_a_text_area_has_one_kind_of_line_break() -> None:
    form = fill(("name", "Mara"), ("notes", "one\r\ntwo\nthree"))

    assert form.get().notes == "one\ntwo\nthree"


def test_a_name_that_comes_several_times_is_a_list() -> None:
    form = fill(("name", "Mara"), ("days", "monday"), ("days", ""), ("days", "friday"), ("numbers", "1"))

    assert (form.get().days, form.get().numbers) == (["monday", "friday"], [1])


def test_dots_lead_into_groups() -> None:
    form = fill(
        ("name", "Mara"), ("place.street", "Pier 12"), ("place.floor", "2"),
        ("hours.1.start", "13:00"), ("hours.0.start", "09:00"), ("hours.0.end", "12:00"),
    )  # fmt: skip

    assert form.get().place == Place("Pier 12", 2)
    assert form.get().hours == [Hours("09:00", "12:00"), Hours("13:00")]


def test_every_fault_stands_at_its_field_in_the_words_of_the_api() -> None:
    form = fill(
        ("name", ""), ("email", "nobody"), ("zone", "Mars/Base"), ("seats", "many"), ("on", "soon"), ("notes", "\0"),
        ("isPublic", "perhaps"), ("days", "a"), ("days", "b"), ("days", "c"), ("days", "d"), ("numbers", "x"),
        ("place.floor", "-1"), ("hours.0.start", "a\nb"), ("hours.1.end", "12:00"),
    )  # fmt: skip

    assert form.sent is None
    assert form.faults == {
        "name": "Enter a name",
        "email": "is not a valid email address",
        "zone": "is not a time zone; use a name such as Europe/Berlin",
        "seats": "must be an integer",
        "on": "must be a date, such as 2026-03-16",
        "notes": "has characters that are not allowed",
        "isPublic": "must be true or false",
        "days": "must have at most 3 entries",
        "numbers.0": "must be an integer",
        "place.street": "is required",
        "place.floor": "must be at least 0",
        "hours.0.start": "has characters that are not allowed",
        "hours.1.start": "is required",
    }


def test_what_can_be_neither_stored_nor_reckoned_with_is_refused_whatever_the_field_says() -> None:
    form = fill(("name", "Mara"), ("place.street", "\x07"), ("on", "1900-01-01"), ("numbers", str(2**64)))

    assert form.sent is None
    assert form.faults == {
        "on": "must be between 1970 and 2200",
        "numbers.0": "is a number out of range",
        "place.street": "has characters that are not allowed",
    }


def test_what_was_typed_can_be_shown_again() -> None:
    form = fill(("name", "Mara"), ("seats", "many")).with_faults({"form": "no"})

    assert (form["name"], form["seats"], form["unknown"]) == ("Mara", "many", "")
    assert form.faults == {"seats": "must be an integer", "form": "no"}
    with pytest.raises(LookupError):
        form.get()


def test_a_handler_that_shows_no_form_again_is_never_called_with_a_wrong_one() -> None:
    with pytest.raises(Invalid) as refused:
        read_form_strictly(exchange(b"name=&seats=0"), Everything)

    assert refused.value.details == {"name": "Enter a name", "seats": "must be at least 1"}
    assert read_form_strictly(exchange(b"name=Mara"), Everything) == Everything(name="Mara", is_public=False)


@pytest.mark.parametrize(
    "body",
    [
        b"name=%ff",
        b"name=a&name=b",
        b"name",
        b"\xff",
        b"&".join(b"f%d=1" % n for n in range(501)),
        b"place.floor=1&place.floor=2",
    ],
)
def test_a_body_that_no_page_of_ours_has_sent_is_refused_as_a_whole(body: bytes) -> None:
    with pytest.raises(Invalid, match="could not be read"):
        send(body)


def test_files_come_with_fields() -> None:
    form = multipart(
        ('name="name"', b"Mara"),
        ('name="notes"', "zwei\r\nZeilen ü".encode()),
        ('name="days"', b"monday"),
        ('name="days"', b"friday"),
        ('name="picture"; filename="me.png"\r\nContent-Type: image/png', b"\x89PNG\r\n\x00"),
    )

    assert form.get().picture == File(name="me.png", media_type="image/png", body=b"\x89PNG\r\n\x00")
    assert (form.get().notes, form.get().days) == ("zwei\nZeilen ü", ["monday", "friday"])
    assert "picture" not in form.values


def test_a_file_that_nobody_chose_is_none() -> None:
    form = multipart(('name="name"', b"Mara"), ('name="picture"; filename=""', b""))

    assert form.get().picture is None


def test_a_text_where_a_file_is_asked_for_is_told() -> None:
    form = multipart(('name="name"', b"Mara"), ('name="picture"', b"text"))

    assert form.faults == {"picture": "must be an object"}


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"name=Mara", "multipart/form-data; boundary=limit"),
        (b"name=Mara", "multipart/form-data"),
        (
            b'--limit\r\nContent-Disposition: form-data; name="name"\r\n\r\nMara\r\n',
            "multipart/form-data; boundary=limit",
        ),
        (
            b'--limit\r\nContent-Disposition: form-data; name="name"\r\n\r\n\xff\r\n--limit--\r\n',
            "multipart/form-data; boundary=limit",
        ),
        (
            b'--limit\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n' * 501 + b"--limit--\r\n",
            "multipart/form-data; boundary=limit",
        ),
    ],
)
def test_parts_that_can_not_be_told_apart_are_refused(body: bytes, content_type: str) -> None:
    with pytest.raises(Invalid, match="could not be read"):
        send(body, content_type)
