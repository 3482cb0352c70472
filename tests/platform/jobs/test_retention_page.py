"""The page of what is kept names jobs that exist, and says how often they run and where a run stops."""

import re
from pathlib import Path

from openslot.platform.jobs.batches import BATCH, MAX_BATCHES
from openslot.platform.jobs.housekeeping import EVENTS
from openslot.wiring import WIRING

PAGE = (Path(__file__).parents[3] / "docs" / "retention.md").read_text("utf-8")
EXPRESSIONS = {job.name: job.expression for job in WIRING.periodic}
OFTEN = {
    r"\* \* \* \* \*": "every minute",
    r"(\*|[1-4]-59)/5 \* \* \* \*": "every five minutes",
    r"\d+ \* \* \* \*": "once an hour",
    r"\d+ \d+ \* \* \*": "once a day",
}


def test_every_job_on_the_page_exists() -> None:
    named = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", PAGE))

    assert len(named) > 20
    assert named <= EXPRESSIONS.keys()


def test_the_page_says_how_often_its_jobs_run() -> None:
    named = {EXPRESSIONS[name] for name in re.findall(r"`([a-z_]+\.[a-z_]+)`", PAGE)}
    often = [[words for pattern, words in OFTEN.items() if re.fullmatch(pattern, each)] for each in named]

    assert all(len(each) == 1 for each in often)
    said = " ".join(PAGE.split())
    assert {words for [words] in often} == {words for words in OFTEN.values() if words in said}


def test_the_page_says_where_a_run_stops() -> None:
    words = f"{MAX_BATCHES} batches, which are {MAX_BATCHES * EVENTS:,} events or {MAX_BATCHES * BATCH:,} rows"

    assert words in " ".join(PAGE.split())
