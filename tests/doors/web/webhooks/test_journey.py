"""Make a webhook in the browser, receive a signed test event, lose some events, and replay them."""

from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, expect
from standardwebhooks import Webhook, WebhookVerificationError

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.domains.webhooks.conftest import Happen
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import real_clock as clock
from tests.support.effects import working
from tests.support.receiver import Received, Receiver
from tests.support.wait import until

__all__ = ["clock"]


def verify(secret: str, got: Received) -> Any:
    """Verify a delivery as its receiver does."""
    return Webhook(secret).verify(got.body, got.headers)


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_make_a_webhook_receive_a_signed_test_lose_events_and_replay_them(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    receiver: Receiver,
    happen: Happen,
    *,
    scripts: bool,
) -> None:
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    async with working(runtime):
        await page.goto("/account")
        await page.get_by_role("navigation", name="Settings").get_by_role("link", name="Webhooks").click()
        await page.get_by_role("link", name="Add an endpoint").click()
        await page.get_by_label("Address").fill(receiver.url)
        await page.get_by_label("Only these events").check()
        await page.get_by_label("contact.created").check()
        await page.get_by_role("button", name="Add the endpoint").click()
        secret = await page.get_by_label("The signing secret", exact=True).input_value()
        await page.get_by_role("button", name="Send a test event").click()
        await expect(page.locator("#test-result")).to_contain_text("The endpoint answered 200", timeout=20_000)
        await expect(page.locator("#deliveries")).to_contain_text("webhook.test")
        await expect(page.locator("#standing")).to_contain_text("Working")
        assert verify(secret, receiver.got[-1])["type"] == "webhook.test"
        await page.goto(f"{page.url.partition('?')[0].partition('#')[0]}?done=replayed&count=1#log")
        await expect(page.locator("#log")).to_be_in_viewport()
        await expect(page.get_by_role("status")).to_be_in_viewport()
        with pytest.raises(WebhookVerificationError):
            verify("whsec_" + "A" * 43 + "=", receiver.got[-1])

        receiver.answer(410)
        for _ in range(3):
            await happen()
        await settle(runtime)
        assert len(receiver.got) >= 2
        await page.reload()
        await expect(page.get_by_text("Switched off")).to_be_visible()
        await expect(page.get_by_text("Failed, 410").first).to_be_visible()

        receiver.answer(204)
        await page.get_by_role("button", name="Resume").click()
        await page.get_by_role("link", name="Replay…").click()
        await page.get_by_role("button", name="Preview").click()
        await expect(page.get_by_role("heading", name="3 events will be sent")).to_be_visible()
        before = len(receiver.got)
        await page.get_by_role("button", name="Send them now").click()
        await expect(page.get_by_role("status")).to_contain_text("3 events will be resent")
        await until(lambda: len(receiver.got) == before + 3, within=20)
    emails = {verify(secret, got)["data"]["email"] for got in receiver.got[before:]}
    assert len(emails) == 3
    assert faults == []


async def settle(runtime: Runtime) -> None:
    """Wait until nothing is to be delivered any more."""
    for _ in range(400):
        if not await runtime.pool.fetchval(
            "select exists (select from effects where state in ('queued', 'running', 'waiting'))"
        ):
            return
        await runtime.pool.fetchval("select pg_sleep(0.05)")
    pytest.fail("deliveries have not come to an end")
