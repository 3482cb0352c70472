"""The codes that invitees were sent, as they would read them in their mails."""

from openslot.domains.access.email_codes import code_of
from openslot.platform.core.work import Runtime

NEWEST = "select id from email_codes where lower(email) = lower($1) order by created_at desc, id desc limit 1"


async def read_code(runtime: Runtime, email: str = "jonas@okafor.example") -> str:
    """Tell the code that somebody was sent last."""
    return code_of(runtime, await runtime.pool.fetchval(NEWEST, email))


async def count_codes(runtime: Runtime) -> int:
    found: int = await runtime.pool.fetchval("select count(*) from email_codes")
    return found
