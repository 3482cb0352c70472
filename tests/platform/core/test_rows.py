"""Nouns as rows: columns, values and readers follow the Struct."""

from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

from openslot.platform.core.rows import Rows

NOON = datetime(2026, 3, 16, 12, tzinfo=UTC)


class Color(StrEnum):
    RED = "red"


class Size(Struct, frozen=True):
    width: int
    height: int | None = None


class Thing(Struct, frozen=True, kw_only=True):
    id: int
    color: Color
    size: Size
    tags: tuple[str, ...]
    others: tuple[Size, ...] | None
    seen_at: datetime | None
    is_new: bool
    lines: tuple[str, ...] = ()
    note: str = "none"
    colors: frozenset[Color] = frozenset()


THINGS = Rows(
    Thing,
    "things t",
    prefix="t_",
    computed={"is_new": "t.age < 1"},
    given={"note"},
    spread={"size": ""},
    json={"lines"},
)
THING = Thing(
    id=1,
    color=Color.RED,
    size=Size(2, 3),
    tags=("a", "b"),
    others=(Size(4),),
    seen_at=NOON,
    is_new=True,
    lines=("x",),
    colors=frozenset({Color.RED}),
)
ROW = {
    "t_id": 1,
    "t_color": "red",
    "t_width": 2,
    "t_height": 3,
    "t_tags": ["a", "b"],
    "t_others": '[{"width": 4}]',
    "t_seen_at": NOON,
    "t_is_new": True,
    "t_lines": '["x"]',
    "t_colors": ["red"],
}


def test_columns_name_every_field() -> None:
    assert THINGS.columns == (
        "t.id as t_id, t.color as t_color, t.width as t_width, t.height as t_height, t.tags as t_tags, "
        "t.others as t_others, t.seen_at as t_seen_at, t.age < 1 as t_is_new, t.lines as t_lines, "
        "t.colors as t_colors"
    )


def test_a_row_is_read_as_the_noun() -> None:
    found = THINGS.read(ROW)
    assert found == THING
    assert isinstance(found.color, Color)
    assert THINGS.read(ROW, note="given").note == "given"


def test_null_is_none() -> None:
    found = THINGS.read({**ROW, "t_others": None, "t_seen_at": None, "t_height": None})
    assert (found.others, found.seen_at, found.size.height) == (None, None, None)


def test_what_is_inserted_is_what_is_stored() -> None:
    assert THINGS.insert("more") == (
        "insert into things (id, color, width, height, tags, others, seen_at, lines, colors, more) "
        "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    )
    others = '[{"width":4,"height":null}]'
    assert THINGS.values(THING) == (1, "red", 2, 3, ("a", "b"), others, NOON, '["x"]', frozenset({"red"}))


def test_an_update_assigns_a_part() -> None:
    part = THINGS.stored.only("seen_at", "others")
    assert part.assign(first=2) == "seen_at = $2, others = $3"
    assert part.values(THING) == (NOON, '[{"width":4,"height":null}]')
    assert THINGS.stored.without("id", "color").names == THINGS.stored.names[2:]
