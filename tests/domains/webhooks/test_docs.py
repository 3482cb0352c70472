"""The page for developers: its code runs, and its examples are what is really sent."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openslot.domains.webhooks.rules import DELAYS, new_secret, signed_headers
from openslot.domains.webhooks.schemas import PUBLISHED, PUBLISHED_TYPES, Published, TestData
from openslot.platform.core.ids import new_id
from tests.support.openapi import DESCRIPTION

PAGE = (Path(__file__).parents[3] / "docs/webhooks.md").read_text("utf-8")
EXAMPLES = {
    example["type"]: example
    for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    if "type" in (example := msgspec.json.decode(block))
}


@pytest.mark.parametrize("published", PUBLISHED, ids=PUBLISHED_TYPES)
def test_each_example_has_exactly_the_fields_that_are_sent(published: Published) -> None:
    example = EXAMPLES[published.event.type]

    assert list(example) == ["id", "type", "createdAt", "data"]
    read = msgspec.convert(example["data"], published.data)
    assert msgspec.json.decode(msgspec.json.encode(read)) == example["data"]


def test_there_is_an_example_of_every_event_and_no_other() -> None:
    assert EXAMPLES.keys() == {*PUBLISHED_TYPES, "webhook.test"}
    assert (
        msgspec.to_builtins(msgspec.convert(EXAMPLES["webhook.test"]["data"], TestData))
        == (EXAMPLES["webhook.test"]["data"])
    )


def test_the_code_that_verifies_by_hand_does() -> None:
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "is_ours" in block]
    found: dict[str, Any] = {}
    exec(code, found)
    secret, other, body = new_secret(), new_secret(), b'{"data":1}'
    headers = signed_headers(new_id(), body, secrets=[other, secret], at=datetime.now(UTC))

    assert found["is_ours"](secret, headers, body)
    assert not found["is_ours"](secret, headers, body + b" ")
    assert not found["is_ours"](new_secret(), headers, body)


def test_the_schedule_on_the_page_is_the_one_that_is_kept() -> None:
    units = {"s": 1, "min": 60, "h": 3600}
    (row,) = re.findall(r"^\| after the previous one \|(.*)\|$", PAGE, re.MULTILINE)
    told = [cell.split() for cell in row.split("|")][1:]

    assert [int(number) * units[unit] for number, unit in told] == [delay.total_seconds() for delay in DELAYS]


def test_the_description_of_the_api_has_every_payload() -> None:
    described = DESCRIPTION

    assert described["webhooks"].keys() == set(PUBLISHED_TYPES)
    for published in PUBLISHED:
        post = described["webhooks"][published.event.type]["post"]
        body = post["requestBody"]["content"]["application/json"]["schema"]
        assert body["properties"]["type"]["const"] == published.event.type
        name = body["properties"]["data"]["$ref"].rpartition("/")[2]
        sent = published.data.__struct_encode_fields__
        assert described["components"]["schemas"][name]["properties"].keys() == set(sent)
        assert [one["name"] for one in post["parameters"]] == ["webhook-id", "webhook-timestamp", "webhook-signature"]
