"""What a stranger's request costs: every route is cheap, answered from memory, or limited, those of tomorrow too."""

import itertools
import re
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import pytest
from msgspec import Struct

from openslot.app import create_app
from openslot.demo.seed import seed
from openslot.domains.access import door, email_codes
from openslot.domains.access.limits.operations import take_from_bucket, take_from_buckets
from openslot.domains.access.models import LimitVerdict
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.profiles import store as profiles
from openslot.domains.bookings.links import manage_token
from openslot.domains.calendars.booking_events import renew_feed
from openslot.domains.wait_list.operations import entry_token
from openslot.doors.agents import images
from openslot.doors.http import doors
from openslot.doors.http.doors import Route, get_user
from openslot.doors.http.handlers import NAMES
from openslot.doors.web.shared import sign_in
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Db
from openslot.platform.core.ids import sign_id
from openslot.platform.core.work import Runtime
from openslot.platform.routing import HandlerFunction, RateLimit, Response, get
from tests.doors.http.golden.asgi import ask, running
from tests.support.founding import add_event_type, found_team

TRIALS = 9
ENOUGH = 2
"""So many trials are enough if what they find is cheap; the first finds cold caches."""
CHEAP = 40
"""How many times `/healthz` a request may cost that nothing limits: one to two milliseconds."""
MAX_A_MINUTE = 150_000
"""How many times `/healthz` the requests of one address may cost in a minute: about an eighth of it."""
NEED_A_CREDENTIAL = {"rest", "scim", "agents", "administration"}
NOT_THERE = {
    "/password/reset/{token}",
    "/verify/{token}",
    "/unsubscribe/{token}",
    "/login/oidc",
    "/login/oidc/callback",
    "/signup",
    "/setup",
    "/metrics",
    "/readyz",
}
NOT_LIMITED = {"/readyz": "those who look after the service ask it, and a refusal would say that it is not ready"}
SOME_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
PHOTO = "0123456789abcdef" * 2
AGENT_IMAGE = """
insert into agent_images (id, at, expires_at, agent, audit_id, width, height, body)
values ($1, $2, $2::timestamptz + interval '7 days', 'content', $1, 1, 1, $3)"""
# Other forms of a page than the first one.
MORE = {
    "/{username}": (".md", ".json"),
    "/{username}/{slug}": (".md", ".json", "?view=zones", "?month=2030-01", "?start=2030-01-07T10:00:00Z"),
    "/team/{team}/{slug}": (".md", ".json", "?view=zones", "?month=2030-01", "?start=2030-01-07T10:00:00Z"),
    "/static/{path:path}": ("?v=1",),
    "/api/public/{username}/{slug}/slots": ("?timezone=Europe/Berlin",),
}


class Costs(Struct, kw_only=True):
    """An app that is asked by strangers."""

    app: Any
    values: dict[str, dict[str, str]]
    """What stands for the placeholders of a path, by its first word; under an empty one, what does everywhere."""
    taken: list[tuple[str, int]]
    """The limits that were counted, with how many requests they allow."""
    asked: int = 0

    async def find_faults(self) -> list[str]:
        """Name every operation that costs too much for how often a stranger may ask for it."""
        await self.measure("GET", "/healthz")
        faults = []
        for route in self.app.router.routes:
            for method in route.handlers:
                faults += await self._find_faults_of(route, method)
        return faults

    async def _find_faults_of(self, route: Route, method: str) -> list[str]:
        template = route.template
        found = self.fill(route, method)
        if found is None:
            return [f"{method} {template}: there is no value for its path"]
        more = MORE.get(template, ()) if method == "GET" else ()
        faults = []
        for target in (found, *(found + each for each in more)):
            cost, max_ = await self.measure(method, target)
            if is_cheap(cost, max_):
                continue
            if max_ is None and template not in NOT_LIMITED:
                faults.append(f"{method} {template}: costs {cost:.0f}, and nothing limits it ({target})")
            elif max_ is not None:
                faults.append(f"{method} {template}: costs {cost:.0f}, {max_} times a minute ({target})")
        return faults

    async def measure(self, method: str, target: str) -> tuple[float, int | None]:
        """Compare the processor time of a request with that of `/healthz`; tell also how often it is allowed."""
        self.taken.clear()
        own, trivial = [], []
        for trial in range(1, TRIALS + 1):
            own.append(await self._ask(method, target))
            # In turns, so that neither has the quieter moments; three times, because the first finds cold caches.
            trivial += [await self._ask("GET", "/healthz") for _ in range(3)]
            cost, max_ = min(own) / min(trivial), min((max_ for _, max_ in self.taken), default=None)
            if trial >= ENOUGH and is_cheap(cost, max_):
                break
        return cost, max_

    async def _ask(self, method: str, target: str) -> float:
        self.asked += 1
        address = f"10.{self.asked >> 16}.{self.asked >> 8 & 255}.{self.asked & 255}"
        began = time.thread_time()
        await ask(self.app, method, target, headers={"host": "127.0.0.1:8000"}, address=address)
        return time.thread_time() - began

    def fill(self, route: Route, method: str) -> str | None:
        """Write a path that exists, or any path if a stranger is sent away from all of them."""
        template = route.template
        values = self.values[""] | self.values.get(_first_word(template), {})
        is_closed = route.door.name in NEED_A_CREDENTIAL or ("user", get_user) in route.handlers[method].given
        names = NAMES.findall(template)
        if not is_closed and not values.keys() >= set(names):
            return None
        return re.sub(r"\{(\w+)(:path)?\}", lambda match: values.get(match[1], SOME_ID), template)


def is_cheap(cost: float, max_: int | None) -> bool:
    """Tell whether a stranger may ask for something of this cost: so often in a minute, or as often as they like."""
    return cost <= CHEAP if max_ is None else cost * max_ <= MAX_A_MINUTE


def _first_word(template: str) -> str:
    return template.removeprefix("/api/public").split("/")[1]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Note which limits are counted."""
    taken: list[tuple[str, int]] = []

    async def note(db: Db, bucket: str, limit: int) -> LimitVerdict:
        taken.append((bucket, limit))
        return await take_from_bucket(db, bucket, limit)

    async def note_many(db: Db, buckets: Sequence[str], limit: int) -> list[LimitVerdict]:
        taken.extend((bucket, limit) for bucket in buckets)
        return await take_from_buckets(db, buckets, limit)

    for counting in (door, email_codes, sign_in):
        monkeypatch.setattr(counting, "take_from_bucket", note)
    monkeypatch.setattr(doors, "take_from_buckets", note_many)
    return taken


WAITING = """
insert into wait_list_entries (id, host_id, event_type_id, day, until, name, email, zone, state, created_at, asked_at)
select $1::text::uuid, $2, e.id, $3::date + 9, $3 + interval '9 days', 'Li', 'li@wei.example', 'UTC', 'waiting', $3, $3
from event_types e where e.owner_id = $2 limit 1"""


@pytest.fixture
async def values(runtime: Runtime) -> dict[str, dict[str, str]]:
    """Furnish the installation with one of each thing that a link of a stranger can lead to."""
    async with runtime.transaction(OPERATOR) as work:
        mara = await accounts.get_user_by_email(work, (await seed(work)).user.email)
        organization = await add_organization(work, name="Pier", slug="pier")
        await add_organization_member(work, organization, mara)
        invitation = await invitations.make_invitation(work, organization, mara)
        feed = (await renew_feed(work, mara)).rpartition("/")[2]
        await profiles.save_photo(work.db, mara.id, PHOTO, bytes(100_000), now=work.now)
        await work.db.execute(AGENT_IMAGE, SOME_ID, work.now, bytes(500_000))
        upcoming = "select id from bookings where host_id = $1 and status = 'CONFIRMED' and starts_at > $2 limit 1"
        booking_id: UUID = await work.db.fetchval(upcoming, mara.id, work.now)
        await work.db.execute(WAITING, SOME_ID, mara.id, work.now)
    await add_event_type(runtime, await found_team(runtime, slug="quay"))
    wrong = {"token": "wrong"}
    return {
        "": {
            "username": "mara",
            "slug": "30min",
            "path": "openslot.css",
            **dict.fromkeys(("hold_id", "connection_id", "channel_id"), SOME_ID),
        },
        "manage": {"token": manage_token(runtime, booking_id)},
        "team": {"team": "sales", "slug": "demo"},
        "wait-list": {"token": entry_token(runtime, UUID(SOME_ID))},
        "feed": {"token": feed},
        "invite": {"token": invitations.invitation_token(runtime, invitation)},
        "photos": {"name": f"{PHOTO}.jpg", "token": f"{sign_id(runtime.signer, images.PURPOSE, UUID(SOME_ID))}.jpg"},
        # What these lead to shows nothing but a form.
        "password": wrong,
        "verify": wrong,
        "unsubscribe": wrong,
    }


async def _costs(
    settings: Settings, values: dict[str, dict[str, str]], taken: list[tuple[str, int]], *more: HandlerFunction
) -> AsyncIterator[Costs]:
    app = create_app(settings, more_routes=more)
    async with running(app):
        yield Costs(app=app, values=values, taken=taken)


@pytest.fixture
async def costs(
    settings: Settings, values: dict[str, dict[str, str]], taken: list[tuple[str, int]]
) -> AsyncIterator[Costs]:
    """The app as it is."""
    async for each in _costs(settings, values, taken):
        yield each


@pytest.mark.rest("opens every page or sends every form")
async def test_no_route_costs_more_than_a_stranger_may_use(costs: Costs) -> None:
    assert await costs.find_faults() == []


async def test_the_walk_finds_what_the_links_of_strangers_lead_to(costs: Costs) -> None:
    """Otherwise it would measure the page that says that nothing is there."""
    for route in costs.app.router.routes:
        if "GET" in route.handlers and route.door.name not in NEED_A_CREDENTIAL and route.template not in NOT_THERE:
            target = f"{costs.fill(route, 'GET')}{MORE.get(route.template, ('',))[-1]}"
            sent = await ask(costs.app, "GET", target, headers={"host": "x"})

            # 409: the page of a time that is not open.
            assert sent.status in {200, 303, 409}, target


@get("/costly")
async def costly() -> Response:
    """Compute for some milliseconds, for anybody and as often as they like."""
    return Response(body=str(sum(itertools.accumulate(range(200_000)))).encode())


@get("/costly-but-limited", limit=RateLimit("costly", 10))
async def costly_but_limited() -> Response:
    """Compute as long, rarely."""
    return await costly()


@get("/costly-too-often", limit=RateLimit("costly-too-often", 100_000))
async def costly_too_often() -> Response:
    """Compute as long, within a limit that limits nothing."""
    return await costly()


@get("/things/{thing}")
async def unknown_thing(thing: str) -> Response:
    """Take a value of which the walk knows no example."""
    return Response(body=thing.encode())


async def test_a_costly_route_that_nothing_limits_is_found(settings: Settings, taken: list[tuple[str, int]]) -> None:
    routes = (costly, costly_but_limited, costly_too_often, unknown_thing)
    async for costs in _costs(settings, {"": {}}, taken, *routes):
        costs.app.router.routes[:] = [one for one in costs.app.router.routes if one.template.startswith(("/co", "/th"))]
        found = [fault for fault in await costs.find_faults() if "/contacts" not in fault]

    assert [fault.partition(":")[0] for fault in found] == [
        "GET /costly",
        "GET /costly-too-often",
        "GET /things/{thing}",
    ]
