"""Notices on their way to endpoints: signed, sent at least once, in no order that anyone may count on."""

import json
from collections.abc import Callable
from random import Random

from msgspec import Struct
from stripe import WebhookSignature

from tests.support.fake_server import Post, post_over_http
from tests.support.fake_stripe.books import Books, Object

# Longer after each failure, in seconds.
BACK_OFF = (60, 3600, 4 * 3600)
TRIES = 3


class Delivery(Struct, eq=False):
    """One event for one endpoint."""

    books: Books
    event: Object
    endpoint: Object
    due_at: int
    tries: int = 0

    @property
    def body(self) -> bytes:
        """Indented, as Stripe sends it: who parses and writes it anew has another text."""
        return json.dumps(self.event, indent=2, ensure_ascii=False).encode()

    @property
    def headers(self) -> dict[str, str]:
        """What a receiver verifies, signed at this moment by the library's own code."""
        secret = self.books.secrets[self.endpoint["id"]]
        signature = WebhookSignature.generate_signature_header(self.body.decode(), secret, self.books.now)
        return {"Content-Type": "application/json; charset=utf-8", "Stripe-Signature": signature}


class Notices:
    """All deliveries that are not done; a test drops, repeats, delays and reorders them by changing the list."""

    def __init__(self) -> None:
        self.waiting: list[Delivery] = []
        self.post: Post = post_over_http
        """How a notice is sent; a test may hand it to the app in its own process."""
        self.reach: Callable[[str], str] = lambda url: url
        """Where an endpoint's public address really is."""

    def add(self, books: Books, event: Object) -> None:
        """Send an event to every endpoint that wants its type."""
        for endpoint in books.list("webhook_endpoint"):
            if {event["type"], "*"} & set(endpoint["enabled_events"]):
                event["pending_webhooks"] += 1
                self.waiting.append(Delivery(books, event, endpoint, books.now))

    def find(self, type_: str) -> Delivery:
        """Find the first notice of a type that waits."""
        return next(each for each in self.waiting if each.event["type"] == type_)

    def delay(self, seconds: int) -> None:
        """Let every waiting notice come later."""
        for each in self.waiting:
            each.due_at += seconds

    def drop(self) -> None:
        """Lose all that wait."""
        self.waiting.clear()

    def repeat(self) -> None:
        """Send all that wait once more."""
        self.waiting += [Delivery(each.books, each.event, each.endpoint, each.due_at) for each in self.waiting]

    def shuffle(self, random: Random) -> None:
        random.shuffle(self.waiting)

    async def deliver(self) -> list[int]:
        """Send what is due, in the order of the list, and return the answers' statuses; failures wait for later."""
        statuses = []
        for each in [each for each in self.waiting if each.due_at <= each.books.now]:
            self.waiting.remove(each)
            status = await self._send(each)
            statuses.append(status)
            if not 200 <= status < 300 and each.tries < TRIES:
                each.due_at = each.books.now + BACK_OFF[each.tries - 1]
                self.waiting.append(each)
        return statuses

    async def _send(self, delivery: Delivery) -> int:
        delivery.tries += 1
        if delivery.endpoint["id"] not in delivery.books.objects:
            return 200
        return await self.post(self.reach(delivery.endpoint["url"]), delivery.headers, delivery.body)
