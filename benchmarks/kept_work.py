"""Work of the caches that are classes of our own, with what they keep and without it."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from jinja2 import Environment
from msgspec.structs import replace

from benchmarks.cached_work import Run
from benchmarks.stage import stage
from benchmarks.teams import SMALL, SMALL_TEAM, list_times, set_up_teams
from openslot.domains.availability import team_listing
from openslot.domains.oidc import provider as identity
from openslot.domains.oidc.models import Provider
from openslot.doors.agents.audit import operations as audit
from openslot.doors.agents.models import AuditStatus, CallRecord
from openslot.doors.web.shared.templating import TemplateCache, templates
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, system_clock
from openslot.platform.flags import operations as flags
from openslot.platform.flags.models import FlagKey
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, providing

TEMPLATES = "doors.web.shared.templating:TemplateCache"
FLAG = next(iter(FlagKey))
OWN_CACHES = {
    "domains.availability.team_listing:TimesCache": f"free times of {SMALL} hosts of a team, 62 days",
    "domains.oidc.provider:ProviderCache": "read what an identity provider publishes, for a sign-in",
    "doors.agents.audit.operations:CachedChainEnd": "keep the record of an agent's call",
    TEMPLATES: "load the templates of a booking page, in a new process",
    "platform.flags.operations:FlagCache": "ask whether a feature is on, for which the database is read",
}

PAGES = ("booking/book.html", "booking/layout.html", "booking/parts.html", "booking/picker.html", "booking/fields.html")


@asynccontextmanager
async def set_up_kept_work(runtime: Runtime) -> AsyncIterator[dict[str, tuple[Run, Run]]]:
    """Set up what the work needs, and return each of it as it is done, and as if nothing were kept."""
    _keep_compiled()
    with stage() as here:
        async with set_up_teams(here) as (of_teams, _, _), providing(system_clock) as published:
            settings = replace(
                runtime.settings,
                oidc_issuer=published.issuer,
                oidc_client_id=CLIENT_ID,
                oidc_client_secret=CLIENT_SECRET,
            )
            provider = identity.get_provider(settings)
            works: list[tuple[Run, Callable[[], object]]] = [
                (
                    lambda: list_times(of_teams, SMALL_TEAM, system_clock().date(), days=62),
                    team_listing.KEPT.clear,
                ),
                (lambda: _read_published(runtime, provider), lambda: _forget_published(runtime)),
                (lambda: audit.keep_record(runtime, _make_record()), lambda: _forget_end(runtime)),
                (lambda: _load(templates.overlay()), lambda: None),
                (lambda: flags.is_enabled(runtime.work(PUBLIC), FLAG), lambda: _forget_flags(runtime)),
            ]
            pairs = dict(zip(OWN_CACHES, ((kept, _forgetting(kept, forget)) for kept, forget in works), strict=True))
            pairs[TEMPLATES] = (pairs[TEMPLATES][0], lambda: _load(templates.overlay(bytecode_cache=None)))
            yield pairs


def _keep_compiled() -> None:
    """Write compiled templates, as an installed service does."""
    sys.dont_write_bytecode = False
    Path(TemplateCache().directory).mkdir(exist_ok=True)


def _forgetting(run: Run, forget: Callable[[], object]) -> Run:
    def run_anew() -> object:
        forget()
        return run()

    return run_anew


async def _read_published(runtime: Runtime, provider: Provider) -> None:
    await identity.get_provider_keys(runtime, await identity.get_provider_metadata(runtime, provider))


def _forget_published(runtime: Runtime) -> None:
    cache = runtime.one(identity.ProviderCache)
    cache.metadata = cache.keys = None


def _make_record() -> CallRecord:
    return CallRecord(
        id=new_id(), at=system_clock(), agent="support", key_id=new_id(), tool="check_budget", status=AuditStatus.OK
    )


def _forget_end(runtime: Runtime) -> None:
    runtime.one(audit.CachedChainEnd).end = None


def _forget_flags(runtime: Runtime) -> None:
    runtime.one(flags.FlagCache)._read_at = -flags.FRESH_SECONDS  # noqa: SLF001 - as if a second had passed


def _load(environment: Environment) -> None:
    for each in PAGES:
        environment.get_template(each)
