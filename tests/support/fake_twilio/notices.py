"""Notices on their way: signed by Twilio's own library, each sent once, in no order that anyone may count on."""

from collections.abc import Callable
from random import Random
from urllib.parse import urlencode

from msgspec import Struct
from twilio.request_validator import RequestValidator

from tests.support.fake_server import Post, post_over_http
from tests.support.fake_twilio.account import FakeAccount


class Delivery(Struct, eq=False):
    """One form for one address."""

    account: FakeAccount
    url: str
    form: dict[str, str]

    @property
    def body(self) -> bytes:
        return urlencode(self.form).encode()

    @property
    def headers(self) -> dict[str, str]:
        """What a receiver verifies."""
        signature = RequestValidator(self.account.token).compute_signature(self.url, self.form)
        return {
            "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
            "X-Twilio-Signature": signature,
            "I-Twilio-Idempotency-Token": f"{id(self):x}",
        }


class Notices:
    """All that are not sent; a test drops, repeats and reorders them by changing the list."""

    def __init__(self) -> None:
        self.waiting: list[Delivery] = []
        self.post: Post = post_over_http
        """How a notice is sent; a test may hand it to the app in its own process."""
        self.reach: Callable[[str], str] = lambda url: url
        """Where a public address really is."""

    def add(self, account: FakeAccount, url: str, form: dict[str, str]) -> None:
        self.waiting.append(Delivery(account, url, form))

    def repeat(self) -> None:
        """Send all that wait once more."""
        self.waiting += list(self.waiting)

    def shuffle(self, random: Random) -> None:
        random.shuffle(self.waiting)

    def drop(self) -> None:
        """Lose all that wait."""
        self.waiting.clear()

    async def deliver(self) -> list[int]:
        """Send all that wait, in the order of the list, and return the answers' statuses; there is no second try."""
        waiting, self.waiting = self.waiting, []
        return [await self.post(self.reach(each.url), each.headers, each.body) for each in waiting]
