"""The fake behaves as Microsoft is documented: signing in, tokens that rotate and end, subscriptions and notices."""

import base64
import hashlib
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2
import pytest

from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import (
    CLIENT_ID,
    CLIENT_SECRET,
    PERSONAL,
    TENANT,
    FakeMicrosoft,
    Mailbox,
    Reply,
    SignInRefused,
)
from tests.support.graph_client import EMAIL, GraphClient, at, fake, graph, mailbox

pytestmark = pytest.mark.rest("tests a fake of a vendor")

__all__ = ["fake", "graph", "mailbox"]

VERIFIER = "a" * 43
BACK = "https://book.lindqvist.example/connect/microsoft/callback"
HERE = "https://book.lindqvist.example/notices"


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as opened:
        yield opened


def page_of(fake: FakeMicrosoft, tenant: str = "common", **changes: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
    query = {"client_id": CLIENT_ID, "response_type": "code", "redirect_uri": BACK, "state": "s"}
    query |= {"scope": "offline_access User.Read Calendars.ReadWrite"}
    query |= {"code_challenge": challenge, "code_challenge_method": "S256", **changes}
    return f"{fake.url}/{tenant}/oauth2/v2.0/authorize?{urlencode(query)}"


def read(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


async def ask(client: httpx2.AsyncClient, fake: FakeMicrosoft, tenant: str = "common", **form: str) -> Any:
    told = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, **form}
    return await client.post(f"{fake.url}/{tenant}/oauth2/v2.0/token", data=told)


async def exchange(client: httpx2.AsyncClient, fake: FakeMicrosoft, code: str, **changes: str) -> Any:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
    return await ask(client, fake, **{**form, **changes})


async def refresh(client: httpx2.AsyncClient, fake: FakeMicrosoft, token: str) -> Any:
    return await ask(client, fake, grant_type="refresh_token", refresh_token=token)


async def sign_in(client: httpx2.AsyncClient, fake: FakeMicrosoft) -> Any:
    code = read(fake.login.decide(page_of(fake), EMAIL))["code"]
    return (await exchange(client, fake, code)).json()


async def test_a_code_gives_tokens_once(client: httpx2.AsyncClient, fake: FakeMicrosoft, clock: MovingClock) -> None:
    back = read(fake.login.decide(page_of(fake), EMAIL))
    assert back["state"] == "s"

    given = (await exchange(client, fake, back["code"])).json()

    assert (given["token_type"], given["scope"]) == ("Bearer", "User.Read Calendars.ReadWrite")
    assert fake.login.find_access(given["access_token"]) is not None
    again = (await exchange(client, fake, back["code"])).json()
    assert (again["error"], again["error_codes"]) == ("invalid_grant", [54005])
    late = read(fake.login.decide(page_of(fake), EMAIL))["code"]
    clock.pass_time(minutes=10)
    assert (await exchange(client, fake, late)).json()["error_codes"] == [70008]
    clock.pass_time(minutes=80)
    assert fake.login.find_access(given["access_token"]) is None


@pytest.mark.parametrize(
    ("changes", "error", "code"),
    [
        ({"code_verifier": "b" * 43}, "invalid_grant", 501481),
        ({"redirect_uri": f"{BACK}/"}, "invalid_grant", 50011),
        ({"client_secret": "b"}, "invalid_client", 7000215),
        ({"client_id": "b"}, "unauthorized_client", 700016),
        ({"grant_type": "password"}, "unsupported_grant_type", 70003),
        ({"resource": "b"}, "invalid_request", 900144),
        ({"tenant": "organizations"}, "invalid_grant", 9002313),
    ],
)
async def test_a_code_is_refused(
    client: httpx2.AsyncClient, fake: FakeMicrosoft, changes: dict[str, str], error: str, code: int
) -> None:
    found = read(fake.login.decide(page_of(fake), EMAIL))["code"]

    refused = await exchange(client, fake, found, **changes)

    assert (refused.json()["error"], refused.json()["error_codes"]) == (error, [code])
    assert f"AADSTS{code}" in refused.json()["error_description"]


async def test_a_refresh_token_is_replaced_and_dies(
    client: httpx2.AsyncClient, fake: FakeMicrosoft, clock: MovingClock
) -> None:
    first = (await sign_in(client, fake))["refresh_token"]
    second = (await refresh(client, fake, first)).json()["refresh_token"]
    assert second != first
    clock.pass_time(seconds=30)
    assert (await refresh(client, fake, first)).status_code == 200
    clock.pass_time(seconds=31)

    dead = await refresh(client, fake, first)

    assert (dead.status_code, dead.json()["error"]) == (400, "invalid_grant")
    third = (await refresh(client, fake, second)).json()["refresh_token"]
    clock.pass_time(days=91)
    assert (await refresh(client, fake, third)).json()["error_codes"] == [700082]


async def test_access_that_was_revoked_ends_at_once(client: httpx2.AsyncClient, fake: FakeMicrosoft) -> None:
    given = await sign_in(client, fake)
    fake.login.revoke(EMAIL)

    assert (await refresh(client, fake, given["refresh_token"])).json()["error_codes"] == [50173]
    graph = GraphClient(fake, given["access_token"])
    refused = await graph.send("GET", "me")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "InvalidAuthenticationToken")
    await graph.close()


async def test_a_scope_that_was_not_asked_for_is_missing(fake: FakeMicrosoft, graph: GraphClient) -> None:
    graph.token = fake.login.allow(EMAIL, "User.Read")

    assert (await graph.send("GET", "me")).status_code == 200
    assert (await graph.send("GET", "me/calendars")).status_code == 403


@pytest.mark.parametrize("code", [65001, 90094])
async def test_only_an_administrator_can_allow(client: httpx2.AsyncClient, fake: FakeMicrosoft, code: int) -> None:
    token = (await sign_in(client, fake))["refresh_token"]
    fake.login.people[EMAIL].admin_needed = code

    back = read(fake.login.decide(page_of(fake), EMAIL))
    assert (back["error"], back["state"]) == ("access_denied", "s")
    assert back["error_description"].startswith(f"AADSTS{code}")
    refused = (await refresh(client, fake, token)).json()
    assert (refused["error"], refused["error_codes"]) == ("invalid_grant", [code])
    page = await client.post(page_of(fake), data={"email": EMAIL, "decision": "accept"})
    assert "Need admin approval" in page.text


async def test_a_person_declines_on_the_page(client: httpx2.AsyncClient, fake: FakeMicrosoft) -> None:
    assert "Calendars.ReadWrite" in (await client.get(page_of(fake))).text

    declined = await client.post(page_of(fake), data={"email": EMAIL, "decision": "cancel"})

    assert declined.status_code == 303
    assert "AADSTS65004" in read(declined.headers["location"])["error_description"]


@pytest.mark.parametrize(
    ("tenant", "of", "may"),
    [
        ("common", TENANT, True),
        ("common", PERSONAL, True),
        ("organizations", TENANT, True),
        ("organizations", PERSONAL, False),
        (TENANT, TENANT, True),
        ("11111111-0000-41af-91ab-2d7cd011db47", TENANT, False),
    ],
)
async def test_a_tenant_lets_its_own_people_in(fake: FakeMicrosoft, tenant: str, of: str, *, may: bool) -> None:
    fake.add_mailbox("jo@lindqvist.example", tenant=of)
    if may:
        assert "code" in read(fake.login.decide(page_of(fake, tenant), "jo@lindqvist.example"))
        return
    with pytest.raises(SignInRefused):
        fake.login.decide(page_of(fake, tenant), "jo@lindqvist.example")


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge_method": "plain"},
        {"response_type": "token"},
        {"scope": "offline_access Everything"},
        {"state": ""},
        {"client_id": "b"},
        {"access_type": "offline"},
        {"prompt": "all"},
    ],
)
async def test_a_page_that_was_asked_for_wrongly_sends_nobody_back(
    client: httpx2.AsyncClient, fake: FakeMicrosoft, changes: dict[str, str]
) -> None:
    shown = await client.get(page_of(fake, **changes))

    assert (shown.status_code, "AADSTS" in shown.text) == (400, True)


class Receiver:
    """An address that answers as a test says."""

    def __init__(self) -> None:
        self.content_type, self.status, self.took = "text/plain; charset=utf-8", 200, 0.0
        self.more = ""
        self.bodies: list[bytes] = []
        self.validated: list[str] = []

    async def reach(self, url: str, _headers: dict[str, str], body: bytes) -> Reply:
        token = parse_qs(urlsplit(url).query).get("validationToken")
        if token is None:
            self.bodies.append(body)
            return Reply(self.status, took=self.took)
        self.validated.append(url.partition("?")[0])
        return Reply(self.status, self.content_type, token[0] + self.more, self.took)


@pytest.fixture
def receiver(fake: FakeMicrosoft) -> Receiver:
    made = Receiver()
    fake.subscriptions.reach = made.reach
    return made


def wanted(mailbox: Mailbox, lasts: timedelta = timedelta(days=6), **changes: Any) -> dict[str, Any]:
    return {
        "changeType": "created,updated,deleted",
        "notificationUrl": HERE,
        "lifecycleNotificationUrl": f"{HERE}/lifecycle",
        "resource": f"me/calendars/{mailbox.default}/events",
        "expirationDateTime": f"{mailbox.clock() + lasts:%Y-%m-%dT%H:%M:%SZ}",
        "clientState": "secret",
        **changes,
    }


async def test_both_addresses_are_validated(graph: GraphClient, mailbox: Mailbox, receiver: Receiver) -> None:
    made = await graph.send("POST", "subscriptions", wanted(mailbox))

    assert made.status_code == 201
    assert receiver.validated == [HERE, f"{HERE}/lifecycle"]
    again = await graph.send("POST", "subscriptions", wanted(mailbox))
    assert again.status_code == 409
    assert [each["id"] for each in (await graph.get("subscriptions"))["value"]] == [made.json()["id"]]


@pytest.mark.parametrize(
    "change", [{"content_type": "text/html"}, {"status": 202}, {"more": "\n"}, {"took": 11.0}, {"content_type": ""}]
)
async def test_an_address_that_answers_otherwise_gets_nothing(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, receiver: Receiver, change: dict[str, Any]
) -> None:
    for name, value in change.items():
        setattr(receiver, name, value)

    refused = await graph.send("POST", "subscriptions", wanted(mailbox))

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "ValidationError")
    assert fake.subscriptions.live == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"lasts": timedelta(minutes=10_081)},
        {"lasts": timedelta(minutes=-1)},
        {"clientState": "a" * 129},
        {"notificationUrl": "http://book.lindqvist.example/notices"},
        {"lifecycleNotificationUrl": "http://book.lindqvist.example/notices"},
        {"changeType": "created,moved"},
        {"resource": "me/messages"},
        {"includeEverything": True},
    ],
)
async def test_a_subscription_is_refused(
    graph: GraphClient, mailbox: Mailbox, receiver: Receiver, changes: dict[str, Any]
) -> None:
    assert (await graph.send("POST", "subscriptions", wanted(mailbox, **changes))).status_code == 400
    assert receiver.validated == []


async def test_a_subscription_is_renewed_and_ends_by_the_clock(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, receiver: Receiver, clock: MovingClock
) -> None:
    made = (await graph.send("POST", "subscriptions", wanted(mailbox, timedelta(minutes=1)))).json()
    assert datetime.fromisoformat(made["expirationDateTime"]) == clock() + timedelta(minutes=45)
    place = f"subscriptions/{made['id']}"
    until = {"expirationDateTime": f"{clock() + timedelta(days=7):%Y-%m-%dT%H:%M:%SZ}"}
    assert (await graph.send("PATCH", place, until)).status_code == 200
    assert (await graph.send("PATCH", place, {**until, "lifecycleNotificationUrl": HERE})).status_code == 400
    # To renew is to reauthorize, too.
    assert (await graph.send("POST", f"{place}/reauthorize")).status_code == 400
    clock.pass_time(minutes=10)
    assert (await graph.send("POST", f"{place}/reauthorize")).status_code == 204
    assert (await graph.send("PATCH", place, until)).status_code == 400

    clock.pass_time(days=7)
    graph.token = fake.login.allow(EMAIL, "Calendars.ReadWrite")
    assert (await graph.send("PATCH", place, until)).status_code == 404
    assert (await graph.get("subscriptions"))["value"] == []
    other = (await graph.send("POST", "subscriptions", wanted(mailbox))).json()
    assert (await graph.send("DELETE", f"subscriptions/{other['id']}")).status_code == 204
    assert (await graph.send("DELETE", f"subscriptions/{other['id']}")).status_code == 404


async def test_one_notice_has_many_items_with_the_id_that_was_asked_for(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, receiver: Receiver
) -> None:
    other = mailbox.add_calendar("Other")
    await graph.send("POST", "subscriptions", wanted(mailbox))
    await graph.send("POST", "subscriptions", wanted(mailbox, resource=f"me/calendars/{other}/events"), prefer="")
    here = mailbox.edit(mailbox.default, "one", start=at(9), end=at(10))
    there = mailbox.edit(other, "two", start=at(9), end=at(10))
    mailbox.delete(mailbox.default, here)

    ((path, body),) = fake.take_notices()

    assert path == "/notices"
    told = [(each["changeType"], each["resourceData"]["id"], each["clientState"]) for each in body["value"]]
    assert told == [
        ("created", here.immutable_id, "secret"),
        ("created", there.plain_id, "secret"),
        ("deleted", here.immutable_id, "secret"),
    ]
    assert await fake.notify() == []


async def test_a_notice_that_fails_is_sent_again_and_then_dropped(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, receiver: Receiver, clock: MovingClock
) -> None:
    await graph.send("POST", "subscriptions", wanted(mailbox))
    mailbox.edit(mailbox.default, "one", start=at(9), end=at(10))
    receiver.status = 503
    assert await fake.notify() == [503]
    assert await fake.notify() == []
    clock.pass_time(seconds=20)
    assert await fake.notify() == [503]
    clock.pass_time(hours=5)
    assert await fake.notify() == [503]
    assert len(fake.subscriptions.dropped) == 1

    ((path, body),) = fake.take_notices()

    assert (path, body["value"][0]["lifecycleEvent"]) == ("/notices/lifecycle", "missed")


async def test_an_address_that_is_slow_hears_no_more(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, receiver: Receiver
) -> None:
    await graph.send("POST", "subscriptions", wanted(mailbox))
    receiver.took = 3.1
    for hour in range(10):
        mailbox.edit(mailbox.default, "one", start=at(hour), end=at(hour + 1))
        await fake.notify()
    sent = len(receiver.bodies)
    mailbox.edit(mailbox.default, "one", start=at(12), end=at(13))

    await fake.notify()

    assert (sent, len(receiver.bodies)) == (10, 10)
    assert fake.subscriptions.dropped


async def test_lifecycle_events_come_to_their_own_address(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, receiver: Receiver
) -> None:
    made = (await graph.send("POST", "subscriptions", wanted(mailbox))).json()
    for event in ("reauthorizationRequired", "missed", "subscriptionRemoved"):
        fake.subscriptions.tell(made["id"], event)

    ((path, body),) = fake.take_notices()

    assert path == "/notices/lifecycle"
    events = [each["lifecycleEvent"] for each in body["value"]]
    assert events == ["reauthorizationRequired", "missed", "subscriptionRemoved"]
    assert (await graph.send("GET", f"subscriptions/{made['id']}")).status_code == 404
