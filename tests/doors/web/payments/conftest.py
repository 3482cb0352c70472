"""A host who takes payments, the fake Stripe they go to, and how the pages are used."""

import re

import httpx2
import pytest

from openslot.domains.allowances import rules
from openslot.domains.allowances.models import Cost
from tests.domains.payments.conftest import (
    books,
    clock,
    connection,
    fake_stripe,
    member,
    paid,
    settings,
    stranger,
    user,
)
from tests.domains.payments.support import TEN
from tests.support.fake_stripe import Books

__all__ = ["books", "clock", "connection", "fake_stripe", "member", "paid", "settings", "stranger", "user"]

PAGE = "/mara/paid"
INVITEE = "jonas@okafor.example"
SEEN = "4900 EUR full"
"""What the form says that the invitee has seen of the price."""
SESSION = re.compile(r"cs_\w+")


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody look at a payment so soon after another that the provider is not asked."""
    monkeypatch.setitem(rules.ACCOUNTS, Cost.PROVIDER_READ, 1000)


def filled(start: str = TEN, **changes: str) -> dict[str, str]:
    """Fill in the form of the booking page."""
    typed = {"price": SEEN, "start": start, "tz": "Africa/Lagos", "name": "Jonas Okafor", "email": INVITEE}
    return {**typed, "notes": "", "guests": "", "hold": "", "website": "", **changes}


async def book(client: httpx2.AsyncClient, **changes: str) -> str:
    """Book by the plain form, and return the checkout session that it leads to."""
    answer = await client.post(PAGE, data=filled(**changes))
    assert answer.status_code == 303, answer.text
    found = SESSION.search(answer.headers["location"])
    assert found is not None
    return found.group()


def manage_of(books: Books, session: str, then: str = "done") -> str:
    """Return where the checkout sends people back to."""
    field = "success_url" if then == "done" else "cancel_url"
    address = httpx2.URL(books.objects[session][field])
    return f"{address.path}?{address.query.decode()}"
