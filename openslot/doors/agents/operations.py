"""The verbs of the roster: what an operator changes about an agent."""

from collections.abc import Collection

from openslot.domains.access.operations import set_key_scopes
from openslot.doors.agents import store
from openslot.doors.agents.errors import AgentNotFound
from openslot.doors.agents.events import AgentLevelChanged, AgentScopesChanged
from openslot.doors.agents.models import AgentSetup, Level
from openslot.doors.agents.roster import SCOPES
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import is_line
from openslot.platform.core.work import Work

LONGEST_CLIENT = 100


async def list_agents(work: Work) -> list[AgentSetup]:
    return await store.list_agents(work.db)


async def get_agent(work: Work, slug: str) -> AgentSetup:
    found = next((each for each in await store.list_agents(work.db) if each.slug == slug), None)
    if found is None:
        raise AgentNotFound
    return found


async def set_level(work: Work, slug: str, level: Level) -> None:
    """Change how far an agent acts on its own, from its next call on."""
    agent = await _lock(work, slug)
    if agent.autonomy_level == level:
        return
    await store.set_level(work.db, slug, level)
    await work.record(AgentLevelChanged(agent=slug, before=agent.autonomy_level, after=level))


async def set_scopes(work: Work, slug: str, scopes: Collection[str]) -> None:
    """Change which tools an agent may call, also with the keys that it has, from its next call on."""
    unknown = sorted(set(scopes) - SCOPES)
    if unknown:
        raise Invalid(details={"scopes": f"must be among {', '.join(sorted(SCOPES))}, not {', '.join(unknown)}"})
    agent = await _lock(work, slug)
    await store.set_scopes(work.db, slug, scopes)
    await set_key_scopes(work, slug, scopes)
    await work.record(AgentScopesChanged(agent=slug, before=sorted(agent.scopes), after=sorted(scopes)))


async def note_client(work: Work, slug: str, client: object) -> None:
    """Note how an agent's program has introduced itself; what is no short line is left out."""
    given = client if isinstance(client, dict) else {}
    name, version = (_read_line(given.get(field)) for field in ("name", "version"))
    await store.note_client(work.db, slug, name, version, now=work.now)


def _read_line(value: object) -> str | None:
    is_short = isinstance(value, str) and len(value.strip()) > 0 and len(value) <= LONGEST_CLIENT and is_line(value)
    return str(value).strip() if is_short else None


async def _lock(work: Work, slug: str) -> AgentSetup:
    agent = await store.lock_agent(work.db, slug)
    if agent is None:
        raise AgentNotFound
    return agent
