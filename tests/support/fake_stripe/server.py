"""The fake over HTTP, and the faults that a test gives to its next answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from openslot.platform.core.work import Clock
from tests.support.fake_server import Answer, Fault, FaultKind, Request, listening
from tests.support.fake_stripe import pages
from tests.support.fake_stripe.api import Api, Call, Key, create_endpoint, write
from tests.support.fake_stripe.books import Books
from tests.support.fake_stripe.errors import StripeRefusal
from tests.support.fake_stripe.notices import Notices

PAGES: dict[str, tuple[str, Callable[[Books, str], Answer], Callable[[Books, str, str], Answer]]] = {
    "/c/pay/": ("checkout.session", pages.show_checkout, pages.take_checkout),
    "/p/session/": (
        "billing_portal.session",
        pages.show_portal,
        lambda books, id_, _: pages.take_portal(books, id_),
    ),
}


class FakeStripe:
    """Accounts, their checkout pages and their notices; time is what the clock says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.api = Api()
        self.notices = Notices()
        self.accounts: list[Books] = []
        self.faults: list[Fault] = []
        """Each is for one request."""
        self.is_down = False
        self.sends_at_once = False
        """Notices are sent as soon as something has happened, as in life, not when the test says `deliver`."""
        self.url = ""
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def asked(self) -> list[Request]:
        """Every request to the API so far."""
        return self.api.asked

    def add_account(self, name: str = "Mara Lindqvist", *, livemode: bool = False) -> Books:
        """Open an account, whose `key` may do everything."""
        number = len(self.accounts) + 1
        books = Books(self.clock, name=name, number=number, livemode=livemode, emitted=self.notices.add)
        books.site = self.url
        self.accounts.append(books)
        self.api.keys[books.key] = Key(books)
        return books

    def add_key(self, books: Books, *rights: str) -> str:
        """Make a restricted key with rights such as `charge_write`, by Stripe's own names without `rak_`."""
        secret = f"rk_{books.mode}_{len(self.api.keys):08d}restricted"
        self.api.keys[secret] = Key(books, frozenset(rights))
        return secret

    def add_endpoint(self, books: Books, url: str, *types: str) -> str:
        """Register an endpoint as an operator does by hand, for all events by default, and return its secret."""
        sent = {"url": url, "enabled_events": list(types) or ["*"]}
        return str(create_endpoint(books, sent, is_checked=False)["secret"])

    def let_time_pass(self) -> None:
        """Do what is due by the clock, though nobody asks."""
        for books in self.accounts:
            books.let_time_pass()

    async def serve(self, request: Request) -> Answer | None:
        """Answer one request; None: hang up."""
        if self.is_down:
            return None
        try:
            path = urlsplit(request.path).path
            return await self._serve_api(request) if path.startswith("/v1/") else self._serve_page(path, request)
        finally:
            if self.sends_at_once:
                task = asyncio.ensure_future(self._deliver())
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    async def settle(self) -> None:
        """Wait for notices that are being sent."""
        while self._under_way:
            await asyncio.gather(*self._under_way)

    async def _deliver(self) -> None:
        await self.notices.deliver()

    async def _serve_api(self, request: Request) -> Answer | None:
        fault = next((each for each in self.faults if each.concerns(request)), None)
        if fault is None:
            call = self.api.begin(request)
            return call.carry_out() if isinstance(call, Call) else call
        self.faults.remove(fault)
        return await self._fail(request, fault)

    async def _fail(self, request: Request, fault: Fault) -> Answer | None:
        broken = Answer(fault.status, fault.body, fault.headers) if fault.body else _break(fault)
        if fault.kind in {FaultKind.HANG_UP, FaultKind.STATUS, FaultKind.RAW}:
            self.api.asked.append(request)
            return None if fault.kind is FaultKind.HANG_UP else broken
        call = self.api.begin(request)
        if not isinstance(call, Call):
            return None if fault.kind is FaultKind.LOSE_ANSWER else call
        if fault.kind is FaultKind.HOLD and fault.release is not None:
            await fault.release.wait()
        elif fault.kind is FaultKind.STALL:
            await asyncio.sleep(3600)
        answer = call.carry_out(broken if fault.kind is FaultKind.KEPT_STATUS else None)
        return None if fault.kind is FaultKind.LOSE_ANSWER else answer

    def _serve_page(self, path: str, request: Request) -> Answer:
        for prefix, (kind, show, take) in PAGES.items():
            id_ = path.removeprefix(prefix)
            books = next((each for each in self.accounts if id_ in each.objects), None)
            if not path.startswith(prefix) or books is None or books.objects[id_]["object"] != kind:
                continue
            return take(books, id_, request.body) if request.method == "POST" else show(books, id_)
        return Answer(404, b"Not found", {"Content-Type": "text/plain"})


def _break(fault: Fault) -> Answer:
    type_ = "api_error" if fault.status >= 500 else "invalid_request_error"
    code = "rate_limit" if fault.status == 429 else None
    refusal = StripeRefusal(fault.status, "An unknown error occurred", type_=type_, code=code)
    return write(fault.status, refusal.body, fault.headers)


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[FakeStripe]:
    """Run a Stripe on a free port of loopback."""
    fake = FakeStripe(clock)
    async with listening(fake.serve) as fake.url:
        try:
            yield fake
        finally:
            await fake.settle()
