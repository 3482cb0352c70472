"""Secrets of every kind, as they are issued: by verbs, by forms, and in links that are mailed."""

import email
import re
from email.policy import default as email_policy
from urllib.parse import urlsplit

import httpx2

from openslot.domains.access import operations as access
from openslot.domains.access.passwords import hash_password
from openslot.domains.accounts.invitations.operations import make_invitation
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.calendars import booking_events
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.links import operations as links
from openslot.domains.schedules import operations as schedules
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointRef, EndpointWanted
from openslot.doors.oauth import operations as assistants
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import new_token
from openslot.platform.core.times import iso
from proofs.scene import Scene
from tests.support.agent import TestAgent
from tests.support.fake_hubspot import TOKEN
from tests.support.issued import allow_assistant, issue
from tests.support.killable import list_starts
from tests.support.passwords import PASSWORD
from tests.support.private_tokens import get_private_token
from tests.support.radicale import PASSWORD as CALENDAR_PASSWORD
from tests.support.two_factor import add_host, turn_on

# What looks random in a link; the rest are names and ids.
RANDOM = re.compile(r"[A-Za-z0-9_.-]{24,}")
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LINK = re.compile(r"https?://[^\s\"'<>)\]]+")
CSRF = re.compile(r'name="csrf" value="([^"]+)"')
SESSION = "session of a form"
MEMBERS = "/api/scim/v2/Users"
# A link that its owner is told wherever the booking is: in the feed of events as in the webhook.
MANAGE = "/manage/"


async def issue_all(set_up: Scene, *, hook: str) -> tuple[dict[str, str], User]:
    """Issue what verbs issue, one of them for a webhook; return it with somebody who has a second factor."""
    runtime, user = set_up.runtime, set_up.user
    password = new_token()[:20]
    guarded = await add_host(runtime)
    app = await turn_on(runtime, guarded)
    issued = await issue(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        await access.give_password(work, user, await hash_password(password))
        organization = await add_organization(work, name="Studio", slug="studio", plan=Plan.BUSINESS)
        await make_invitation(work, organization, guarded)
        endpoint, secret = await webhooks.add_endpoint(work, user, EndpointWanted(url=hook))
        _, rotated = await webhooks.rotate_endpoint_secret(work, EndpointRef(endpoint.id))
        schedule, *_ = await schedules.list_schedules(work, user)
        draft = event_types.draft_event_type(work, schedule, name="Hidden", slug="hidden", duration_minutes=10)
        hidden = await event_types.make_event_type_private(
            work, await event_types.add_event_type(work, schedule, draft)
        )
        _, link = await links.create_booking_link(work, user, hidden.id, uses=2)
        feed = await booking_events.renew_feed(work, user)
        private = await get_private_token(work, hidden)
    more = {
        "password of the host": password,
        "password with a second factor": PASSWORD,
        "key of the host": set_up.key,
        "secret of a webhook": secret,
        "secret of a webhook, rotated": rotated,
        "secret of an app for codes": app.secret,
        "password of a calendar": CALENDAR_PASSWORD,
        "token of a CRM": TOKEN,
        "private event type": private,
        "link for some bookings": link.token or "",
        "link to a feed": feed.rpartition("/")[2].removesuffix(".ics"),
    }
    codes = {f"recovery code {number}": code for number, code in enumerate(app.recovery_codes)}
    return issued | more | codes, guarded


async def visit(set_up: Scene, client: httpx2.AsyncClient, issued: dict[str, str], guarded: User) -> dict[str, str]:
    """Sign in with and without a second factor, ask for links by mail, and book; return what answers have issued."""
    found: dict[str, str] = {}

    async def post(path: str, **fields: str) -> None:
        answer = await client.post(path, data=fields)
        assert answer.status_code < 400, (path, answer.status_code, answer.text[:2000])
        for name, value in answer.cookies.items():
            found[f"cookie {name} of {path}"] = value

    typed = {"email": set_up.user.email, "password": issued["password of the host"]}
    wrong = await client.post("/login", data={**typed, "password": typed["password"][::-1]})
    assert wrong.status_code == 401, wrong.text
    found["password that was wrong"] = typed["password"][::-1]
    await post("/login", **typed)
    found[SESSION] = client.cookies["openslot_session"]
    page = await client.get("/account/email")
    token = CSRF.search(page.text)
    assert token is not None, page.text
    found["token of forms"] = token[1]
    await post("/account/email", email="ida@new.example", current=typed["password"], csrf=token[1])
    client.cookies.clear()
    await post("/login", email=guarded.email, password=PASSWORD)
    await post("/login/two-factor", code=issued["recovery code 0"])
    client.cookies.clear()
    await post("/password/forgot", email=guarded.email)
    new = {"name": "Noor Haddad", "password": new_token()[:20], "timezone": "UTC", "language": "en"}
    await post("/signup", email="noor@haddad.example", **new)
    found["password of a sign-up"] = new["password"]
    client.cookies.clear()
    await _book(set_up, client)
    return found


async def _book(set_up: Scene, client: httpx2.AsyncClient) -> None:
    """Book, and ask again with the same key; the link to the booking is mailed."""
    start, *_ = await list_starts(set_up.runtime, set_up.user.id, 1)
    invitee = {"inviteeName": "Gus Okafor", "inviteeEmail": "gus@okafor.example", "inviteeTimezone": "UTC"}
    wanted = {"eventTypeSlug": "short", "startTime": iso(start), **invitee}
    for _ in range(2):
        answer = await client.post("/api/v1/bookings", json=wanted, headers={**set_up.headers, "Idempotency-Key": "1"})
        assert answer.status_code == 200, answer.text


async def use(set_up: Scene, client: httpx2.AsyncClient, issued: dict[str, str]) -> dict[str, str]:
    """Read members as an identity provider, call a tool as an agent, and let an assistant in; return its tokens."""
    members = await client.get(MEMBERS, headers={"Authorization": f"Bearer {issued['scim token']}"})
    assert members.status_code == 200, members.text
    await TestAgent(client, issued["agent key"]).result("check_budget")
    async with set_up.runtime.transaction(OPERATOR) as work:
        request = await allow_assistant(work, set_up.user)
    tokens = await assistants.issue(set_up.runtime.work(PUBLIC), request)
    return {
        "access token of an assistant that stays": tokens.access_token,
        "refresh token of an assistant that stays": tokens.refresh_token or "",
    }


def read_links(set_up: Scene) -> dict[str, str]:
    """Find everything random in the links of all mails, named by the path before it."""
    found = {}
    for got in set_up.smtp.received:
        message = email.message_from_bytes(got.content, policy=email_policy)
        bodies = [part.get_content() for part in message.walk() if part.get_content_maintype() == "text"]
        for link in LINK.findall("\n".join([*bodies, *map(str, message.values())])):
            parts = urlsplit(link)
            for token in RANDOM.findall(f"{parts.path}?{parts.query}"):
                if not ID.fullmatch(token):
                    found[f"{parts.path.partition(token)[0]} {token[:4]}"] = token
    return found
