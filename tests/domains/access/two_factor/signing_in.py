"""Both steps of a sign-in, and what is kept of them."""

from openslot.domains.access import operations as access
from openslot.domains.access.models import SecondFactorNeeded, SignedIn
from openslot.domains.access.operations import finish_sign_in
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.work import Runtime
from tests.support.passwords import PASSWORD


async def sign_in(runtime: Runtime, user: User, *, device: str = "") -> SignedIn | SecondFactorNeeded:
    return await access.sign_in(
        runtime.work(PUBLIC), email=user.email, password=PASSWORD, device=device, address="192.0.2.1", user_agent=""
    )


async def first_step(runtime: Runtime, user: User) -> str:
    result = await sign_in(runtime, user)
    assert isinstance(result, SecondFactorNeeded)
    return result.token


async def second_step(
    runtime: Runtime, token: str, code: str, *, device: str = "", address: str = "192.0.2.1"
) -> SignedIn:
    work = runtime.work(PUBLIC)
    return await finish_sign_in(work, token=token, code=code, device=device, address=address, user_agent="")


async def events(runtime: Runtime) -> list[str]:
    rows = await runtime.pool.fetch("select type from events where type like 'two_factor.%' order by id")
    return [row["type"].removeprefix("two_factor.") for row in rows]


async def count(runtime: Runtime, table: str) -> int:
    return int(await runtime.pool.fetchval(f"select count(*) from {table}"))
