"""What the service says to some 340 requests, and how it describes itself, is as it was recorded.

The record has every route with its success and its methods, and each kind of refusal once per door. If an answer was
changed on purpose, record it anew and read the difference: `python -m tests.doors.http.golden`.

What else can be wrong with a request is held by other tests: bodies and their fields by `test_bodies.py` and
`test_all_faults.py`, queries and strange paths by `test_queries.py` and `test_router.py`, forms by `test_forms.py` and
`tests/doors/web`, the status, shape and headers of all answers by `test_edge.py`, what is no HTTP by
`tests/hostile`, forms of other sites by `tests/doors/web/test_same_origin.py` and `test_csrf.py`, dates by
`tests/domains/bookings/test_far_dates.py`, and all of it at random by `tests/contracts/test_openapi.py`.
"""

import json
import re

import pytest

from openslot.platform.core.config import Settings
from tests.doors.http.golden.cases import read_case
from tests.doors.http.golden.recording import ANSWERS, DESCRIPTION, list_answers, read_description


async def test_every_recorded_request_is_answered_as_before(settings: Settings) -> None:
    recorded = ANSWERS.read_text("utf-8").splitlines()
    answered = [line async for line in list_answers(settings)]
    changed = [f"- {old}\n+ {new}" for old, new in zip(recorded, answered, strict=False) if old != new]

    if changed or len(recorded) != len(answered):
        pytest.fail(f"{len(changed)} of {len(recorded)} answers changed:\n" + "\n".join(changed[:20]))


def test_the_description_is_as_it_was() -> None:
    assert read_description() == DESCRIPTION.read_text("utf-8")


def test_every_route_of_the_api_is_recorded_with_a_success() -> None:
    recorded = [read_case(line) for line in ANSWERS.read_text("utf-8").splitlines() if line.startswith("2")]
    sent = {(case.method.lower(), case.target.partition("?")[0]) for case in recorded}
    routes = [(method, path) for path, methods in json.loads(read_description())["paths"].items() for method in methods]
    missing = [
        (method, path)
        for method, path in routes
        if not any(method == one and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), target) for one, target in sent)
    ]
    assert missing == []
