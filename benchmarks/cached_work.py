"""Work that caches are measured with: requests to the app, renders of their templates, and calls as those made them."""

import asyncio
import functools
import importlib
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import msgspec
from jinja2 import Template
from msgspec import Struct
from msgspec.structs import replace

from benchmarks.called_work import list_calls
from benchmarks.places import list_places, put
from benchmarks.stage import Stage
from openslot.app import create_app
from openslot.demo.seed import Seeded, seed
from openslot.doors.agents.door import PATH as AGENTS
from openslot.doors.http.edge import App
from openslot.doors.web.shared.static_files import accent_url
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks
from openslot.platform.core.environment import load_settings
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import Runtime
from tests.support.effects import working

SESSION = """insert into sessions (id, user_id, hash, created_at, expires_at, user_agent)
select $1, id, $2, now(), now() + interval '1 day', 'benchmark' from users where email = $3"""
SCHEDULE = "select s.id from schedules s join users u on u.id = s.owner_id where u.email = $1"
TEXT = "Bring *what* you have, and see [this](https://example.com/a).\n\n- one\n- two"
# Functions whose arguments are kept while the demo data and pages are made, and that are called with them again.
WATCHED = {
    "write 20 mails": "domains.mail.message:write_message",
    "write 20 calendar entries": "domains.mail.calendar_entry:write_calendar",
    "lay the grid of a month": "doors.web.shared.booking_calendar:_lay_grid",
    "write the times of a day": "doors.web.shared.booking_calendar:write_times",
}
HOSTS_PATHS = (
    *("/", "/bookings", "/bookings?view=past", "/bookings/month", "/analytics?days=365", "/availability"),
    *("/event-types", "/contacts", "/account", "/settings/notifications", "/search?q=a", "/help/palette"),
    *("/admin/analytics", "/admin/agents", "/admin/jobs", "/admin/system"),
)

Run = Callable[[], object]


class Asked(Struct, frozen=True, kw_only=True):
    """A request to the app, without a server."""

    path: str
    headers: dict[str, str] = {}
    body: bytes = b""


@asynccontextmanager
async def set_up_work(here: Stage) -> AsyncIterator[tuple[Runtime, dict[str, Run]]]:
    """Serve demo data in this process, and name what is done with it."""
    await migrate(here.url)
    limits = {each: 10_000_000 for each in load_settings().__struct_fields__ if each.startswith("limit_")}
    settings = replace(
        load_settings(),
        database_url=here.url,
        data_dir=here.data_dir,
        log_level="error",
        outbound_allow=Networks((ip_network("127.0.0.0/8"),)),
        **limits,
    )
    set_up_logging(settings)
    app, renders, works = create_app(settings), list[Run](), dict[str, Run]()
    with _watching_renders(renders), _watching(works):
        async with app._lifetime():  # noqa: SLF001 - as a server does
            runtime = app._runtime()  # noqa: SLF001
            async with runtime.transaction(OPERATOR) as work:
                seeded = await seed(work)
            async with working(runtime):
                await asyncio.sleep(10)
            for name, asked in (await _list_requests(runtime, seeded)).items():
                await _ask(app, asked)
                renders.clear()
                await _ask(app, asked)
                works[name] = functools.partial(_ask, app, asked)
                if renders:
                    works[f"render {name}"] = functools.partial(_run_all, list(renders))
            works |= list_calls() | {"make the app": lambda: create_app(settings)}
            yield runtime, works


def _run_all(runs: list[Run]) -> None:
    for run in runs:
        run()


async def _list_requests(runtime: Runtime, seeded: Seeded) -> dict[str, Asked]:
    token = new_token()
    await runtime.pool.execute(SESSION, new_id(), fingerprint(token), seeded.admin.email)
    host, json = {"cookie": f"openslot_session={token}"}, {"content-type": "application/json"}
    key = {"authorization": f"Bearer {seeded.api_key}"}
    agent = {"authorization": f"Bearer {seeded.agent_keys['orchestrator']}"}
    name = await runtime.pool.fetchval("select username from users where email = $1", seeded.user.email)
    slug, until = seeded.event_types[0].slug, (datetime.now(UTC) + timedelta(days=14)).date()
    page, listed = f"/{name}/{slug}", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    contact = {"name": "Ada", "email": "ada@okafor.example"}
    paths = {
        "host's page": f"/{name}",
        "booking page": page,
        "zones of a booking page": f"{page}?view=zones",
        "sign-in page": "/login",
        "script of the widget": "/widget.js",
        "bar of a form": "/help/save-bar?lang=en",
        "list of zones": "/help/zones?lang=en",
        "style of a color": accent_url("#7c3aed"),
        "reference of the API": "/api/docs",
        "description of the API": "/api/openapi.json",
    }
    schedule = await runtime.pool.fetchval(SCHEDULE, seeded.admin.email)
    hosts_paths = {
        **dict(zip(HOSTS_PATHS, HOSTS_PATHS, strict=True)),
        "page of holidays": f"/availability/{schedule}/holidays",
    }
    api = {
        "GET /me": "/api/v1/me",
        "GET /bookings": "/api/v1/bookings",
        "GET /contacts": "/api/v1/contacts",
        "GET /availability": f"/api/v1/availability/{slug}?timezone=Europe/Berlin&endDate={until}",
    }
    return {
        **{what: Asked(path=path) for what, path in paths.items()},
        **{what: Asked(path=path, headers=host) for what, path in hosts_paths.items()},
        **{what: Asked(path=path, headers=key) for what, path in api.items()},
        "booking page in German": Asked(path=page, headers={"accept-language": "de"}),
        "POST /contacts": Asked(path="/api/v1/contacts", headers=key | json, body=msgspec.json.encode(contact)),
        "agents' tools/list": Asked(path=AGENTS, headers=agent | json, body=msgspec.json.encode(listed)),
        "public tools/list": Asked(path="/mcp/public", headers=json, body=msgspec.json.encode(listed)),
    }


async def _ask(app: App, asked: Asked) -> None:
    path, _, query = asked.path.partition("?")
    headers = {"host": "localhost", "accept": "application/json, text/event-stream, text/html", **asked.headers}
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST" if asked.body else "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (f"10.0.{next(_numbers) % 250}.1", 5000),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": asked.body, "more_body": False}

    async def send(message: Any) -> None:
        if message.get("status", 200) not in (200, 201, 409):
            raise SystemExit(f"{asked.path} answered {message['status']}")

    await app(scope, receive, send)


_numbers = itertools.count(1)


async def cost_of(run: Run, count: int) -> float:
    """Return the seconds of processor time of this process that something takes, run some times."""
    began = time.process_time()
    for _ in range(count):
        made = run()
        if isinstance(made, Awaitable):
            await made
    return (time.process_time() - began) / count


@contextmanager
def _watching(works: dict[str, Run]) -> Iterator[None]:
    """Keep the last calls of each watched function."""
    for name, path in WATCHED.items():
        module, _, function = path.partition(":")
        _watch(works, name, getattr(importlib.import_module(f"openslot.{module}"), function))
    yield


def _watch(works: dict[str, Run], name: str, inner: Any) -> None:
    kept = list[Run]()

    def watched(*args: Any, **options: Any) -> Any:
        kept.append(functools.partial(inner, *args, **options))
        works[name] = functools.partial(_run_all, kept[-20:])
        return inner(*args, **options)

    put([(holder, key) for holder, key in list_places(inner) if key is not None], watched)


@contextmanager
def _watching_renders(renders: list[Run]) -> Iterator[None]:
    """Keep the templates that are rendered, with their values."""
    render = Template.render

    def watched(self: Template, *args: Any, **values: Any) -> str:
        renders.append(functools.partial(render, self, *args, **values))
        return render(self, *args, **values)

    Template.render = watched  # type: ignore[method-assign]
    yield
