"""The fake over HTTP, and the faults that a test gives to its next answers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from msgspec.structs import replace

from openslot.platform.core.work import Clock
from tests.support.fake_server import Answer, Fault, FaultKind, Request, fail, listening
from tests.support.fake_twilio import api
from tests.support.fake_twilio.account import FakeAccount
from tests.support.fake_twilio.errors import TwilioRefusal
from tests.support.fake_twilio.notices import Notices

STORE = "/store"


class FakeTwilio:
    """Accounts and their notices; time is what the clock says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.notices = Notices()
        self.accounts: list[FakeAccount] = []
        self.faults: list[Fault] = []
        """Each is for one request."""
        self.asked: list[Request] = []
        self.is_down = False
        self.url = ""
        self.store_url = ""
        """Where files are stored; a test may name another host."""

    def add_account(self) -> FakeAccount:
        account = FakeAccount(self.clock, number=len(self.accounts) + 1, notify=self.notices.add)
        self.accounts.append(account)
        return account

    def let_time_pass(self) -> None:
        for account in self.accounts:
            account.let_time_pass()

    async def serve(self, request: Request) -> Answer | None:
        """Answer one request; None: hang up."""
        if self.is_down:
            return None
        self.asked.append(request)
        fault = next((each for each in self.faults if each.concerns(request)), None)
        if fault is None:
            return self._answer(request)
        self.faults.remove(fault)
        return await fail(_fill(fault), lambda: self._answer(request))

    def _answer(self, request: Request) -> Answer:
        self.let_time_pass()
        path = urlsplit(request.path).path
        if path.startswith(f"{STORE}/"):
            _, _, sid, place = path.split("/", 3)
            return api.show_stored_file(self._get(sid), request, place)
        sid = path.removeprefix("/2010-04-01/Accounts/").partition("/")[0].removesuffix(".json")
        if sid not in {account.sid for account in self.accounts}:
            return TwilioRefusal(401, 20003, "Authenticate").answer
        store = self.store_url or f"{self.url}{STORE}"
        return api.answer(self._get(sid), request, media_url=f"{store}/{sid}")

    def _get(self, sid: str) -> FakeAccount:
        return next(account for account in self.accounts if account.sid == sid)


def _fill(fault: Fault) -> Fault:
    """Give a fault the body that Twilio would give it."""
    if fault.body or fault.kind is not FaultKind.STATUS:
        return fault
    code = 20429 if fault.status == 429 else 20500
    return replace(fault, body=json.dumps({"code": code, "message": "fault", "status": fault.status}).encode())


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[FakeTwilio]:
    """Run a Twilio on a free port of loopback."""
    fake = FakeTwilio(clock)
    async with listening(fake.serve) as fake.url:
        yield fake
