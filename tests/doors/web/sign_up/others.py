"""What else can act as a user: assistants, API keys and sessions."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.host import open_session


class Others(Struct, frozen=True, kw_only=True):
    """What can act as a user: two of each."""

    assistants: list[UUID]
    keys: list[UUID]
    sessions: list[UUID]

    def all_ids(self) -> list[UUID]:
        return [*self.assistants, *self.keys, *self.sessions]


async def give_access(runtime: Runtime, user: User) -> Others:
    assistants, keys = [new_id(), new_id()], []
    now = runtime.clock()
    for number, grant_id in enumerate(assistants):
        await runtime.pool.execute(
            """insert into assistant_grants (id, user_id, client_id, client_name, site, scopes, resource, hash,
                created_at, expires_at, ends_at)
            values ($1, $2, 'https://a.example/c', $3, 'a.example', '{bookings:read}', 'r', $4, $5, $6, $6)""",
            grant_id,
            user.id,
            f"Assistant {number}",
            grant_id.bytes,
            now,
            now.replace(year=now.year + 1),
        )
    async with runtime.transaction(OPERATOR) as work:
        for name in ("Website", "Reports"):
            _, credential = await access.create_api_key(work, user, name=name)
            keys.append(credential.id)
    before = {row["id"] for row in await runtime.pool.fetch("select id from sessions where user_id = $1", user.id)}
    for _ in range(2):
        await open_session(runtime, user)
    rows = await runtime.pool.fetch("select id from sessions where user_id = $1 order by id", user.id)
    return Others(assistants=assistants, keys=keys, sessions=[row["id"] for row in rows if row["id"] not in before])
