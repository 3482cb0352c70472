"""webhook …: every command speaks JSON, and a whole life of an endpoint can be led from the terminal."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.webhooks.errors import WebhookNotFound
from openslot.platform.core.errors import Invalid
from openslot.platform.core.outbound import OutboundRefused
from openslot.platform.core.work import Runtime
from tests.domains.webhooks.conftest import Happen
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli
from tests.support.effects import work_off
from tests.support.receiver import Receiver

pytestmark = pytest.mark.rest("runs commands, each with a connection of its own; their verbs are in make test")


@pytest.fixture
def in_thread(cli: Cli) -> Cli:
    """Run a command about webhooks beside the test's own event loop, as it starts one itself."""
    return partial(asyncio.to_thread, cli, "webhook")


async def test_an_endpoints_life(
    runtime: Runtime, clock: MovingClock, user: User, receiver: Receiver, happen: Happen, in_thread: Cli
) -> None:
    made = await in_thread("add", "--user", user.email, "--url", receiver.url, "--event", "contact.created", "--json")
    endpoint = made["webhook"]["id"]
    assert made["secret"].startswith("whsec_")
    assert made["webhook"]["events"] == ["contact.created"]
    assert (await in_thread("show", endpoint, "--json")) == made["webhook"]
    (listed,) = (await in_thread("list", "--user", user.email, "--json"))["webhooks"]
    assert (listed["id"], listed["state"], "secret" in listed) == (endpoint, "active", False)

    await in_thread("test", endpoint, "--json")
    # The command has the real clock, and what it plans must be due here.
    clock.now = datetime.now(UTC) + timedelta(days=1)
    await happen()
    await work_off(runtime, clock)
    assert sorted(got.json["type"] for got in receiver.got) == ["contact.created", "webhook.test"]

    log = await in_thread("deliveries", endpoint, "--json")
    assert (log["total"], log["deliveries"][0]["status"], log["deliveries"][0]["answer"]) == (2, 200, "ok")
    past_the_end = ("deliveries", endpoint, "--page", "9")
    assert (await in_thread(*past_the_end, "--json")) == {"deliveries": [], "total": 2}
    assert (await in_thread(*past_the_end)) == "Page 9 is empty; there are 2 deliveries.\n"
    assert (await in_thread("deliveries", endpoint, "--failed", "--json")) == {"deliveries": [], "total": 0}
    contact_delivery = next(one["id"] for one in log["deliveries"] if one["eventType"] == "contact.created")
    assert (await in_thread("replay", contact_delivery, "--json")) == {"replayed": 1}
    assert (await in_thread("replay", "--endpoint", endpoint, "--from", "2020-01-01", "--json")) == {"replayed": 0}

    assert (await in_thread("change", endpoint, "--all-events", "--json"))["events"] == []
    assert (await in_thread("pause", endpoint, "--json"))["state"] == "paused"
    assert (await in_thread("resume", endpoint, "--json"))["state"] == "active"
    rotated = await in_thread("rotate", endpoint, "--json")
    assert rotated["secret"] not in {made["secret"], ""}
    assert rotated["webhook"]["previousSecretUntil"] is not None
    assert (await in_thread("remove", endpoint, "--json")) == {"removed": endpoint}
    with pytest.raises(WebhookNotFound):
        await in_thread("show", endpoint)


async def test_people_get_sentences(user: User, in_thread: Cli) -> None:
    assert "openslot webhook add" in await in_thread("list")
    said = await in_thread("add", "--user", user.email, "--url", "https://hooks.example.org/")
    assert "Shown only once: whsec_" in said
    assert "https://hooks.example.org/" in await in_thread("list")


async def test_what_can_not_be_is_refused(user: User, in_thread: Cli) -> None:
    with pytest.raises(OutboundRefused):
        await in_thread("add", "--user", user.email, "--url", "http://10.0.0.1/")
    with pytest.raises(Invalid):
        await in_thread(
            "add", "--user", user.email, "--url", "https://hooks.example.org/", "--event", "nothing.happened"
        )
    with pytest.raises(Invalid):
        await in_thread("replay")
