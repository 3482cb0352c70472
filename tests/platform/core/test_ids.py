"""Ids sort by the time they were made, and what is no id names nothing."""

import time
from uuid import UUID

import pytest

from openslot.platform.core.errors import NotFound
from openslot.platform.core.ids import new_id, new_id_text, parse_id


def test_ids_are_uuids_of_version_seven_and_never_the_same() -> None:
    made = [new_id() for _ in range(10_000)]

    assert {one.version for one in made} == {7}
    assert {one.variant for one in made} == {"specified in RFC 4122"}
    assert len(set(made)) == len(made)


def test_ids_made_in_one_millisecond_sort_by_the_time_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [1_800_000_000_123_000_000 + 250 * step for step in range(4_000)]
    monkeypatch.setattr(time, "time_ns", iter(moments).__next__)

    made = [UUID(new_id_text()) if step % 2 else new_id() for step in range(len(moments))]

    assert made == sorted(made)
    assert {one.int >> 80 for one in made} == {1_800_000_000_123}
    assert {one.version for one in made} == {7}


@pytest.mark.parametrize("text", ["", "1", "x" * 36, "0" * 32, "{" + "0" * 34 + "}", "\x00" * 36, "ü" * 36, "9" * 5000])
def test_what_is_no_id_names_nothing(text: str) -> None:
    with pytest.raises(NotFound):
        parse_id(text)


def test_an_id_is_read_back() -> None:
    made = new_id()

    assert parse_id(str(made)) == made
