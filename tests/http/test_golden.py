"""What the service says to many requests, and how it describes itself, is as it was recorded.

Where an answer was changed on purpose, record it anew and read the difference: `python -m tests.http.golden`.
"""

import pytest

from openslot.core.config import Settings
from tests.http.golden.recording import ANSWERS, DESCRIPTION, list_answers, read_description


async def test_every_recorded_request_is_answered_as_before(settings: Settings) -> None:
    recorded = ANSWERS.read_text("utf-8").splitlines()
    answered = [line async for line in list_answers(settings)]
    changed = [f"- {old}\n+ {new}" for old, new in zip(recorded, answered, strict=False) if old != new]

    if changed or len(recorded) != len(answered):
        pytest.fail(f"{len(changed)} of {len(recorded)} answers changed:\n" + "\n".join(changed[:20]))


def test_the_description_is_as_it_was() -> None:
    assert read_description() == DESCRIPTION.read_text("utf-8")
