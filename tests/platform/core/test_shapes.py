"""Wire shapes of nouns: fields of the same name, and what is called otherwise."""

from datetime import UTC, datetime
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.shapes import Shape

NOON = datetime(2026, 3, 16, 12, tzinfo=UTC)
ID = UUID(int=1)


class Person(Struct, frozen=True):
    id: UUID
    zone: str


class Meeting(Struct, frozen=True, kw_only=True):
    id: UUID
    starts_at: datetime
    previous_starts_at: datetime | None
    guests: tuple[str, ...]
    host: Person
    second: Person | None
    others: tuple[Person, ...]
    secret: str = "kept"

    @property
    def is_over(self) -> bool:
        """Always."""
        return True


class ShownPerson(Struct, frozen=True):
    id: str
    timezone: str


class ShownMeeting(Struct, frozen=True, kw_only=True):
    key: str
    start_time: str
    previous_start_time: str | None
    guests: list[str]
    host: ShownPerson
    second: ShownPerson | None
    others: list[ShownPerson]
    is_over: bool
    url: str


SHAPE = Shape(ShownMeeting, Meeting, given=("url",), names={"key": "id"})
HOST = Person(ID, "Europe/Berlin")
MEETING = Meeting(id=ID, starts_at=NOON, previous_starts_at=None, guests=("a",), host=HOST, second=None, others=(HOST,))


def test_a_noun_is_shown_by_its_fields() -> None:
    shown = ShownPerson(str(ID), "Europe/Berlin")
    assert SHAPE.show(MEETING, url="/1") == ShownMeeting(
        key=str(ID),
        start_time="2026-03-16T12:00:00Z",
        previous_start_time=None,
        guests=["a"],
        host=shown,
        second=None,
        others=[shown],
        is_over=True,
        url="/1",
    )


def test_a_shape_names_the_fields_that_it_shows() -> None:
    assert SHAPE.sources["start_time"] == "starts_at"
    assert SHAPE.sources["key"] == "id"
    assert "url" not in SHAPE.sources
    assert SHAPE.instants == {"start_time", "previous_start_time"}
