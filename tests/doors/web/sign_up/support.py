"""People who sign up, and who change their address."""

import httpx2

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User, UserWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.sign_up.conftest import NEW
from tests.support.passwords import PASSWORD

CHANGE_PAGE, CHANGE_LINK = "/account/email", "/account/email/"
MARA, WANTED, TAKEN = "mara@lindqvist.example", "mara@elsewhere.example", "li@okafor.example"
EMAIL = "noor@haddad.example"
FORM = {
    "name": "Noor Haddad",
    "email": EMAIL,
    "password": NEW,
    "timezone": "Asia/Amman",
    "language": "en",
}
LINK = "/verify/"


async def ask_for_change(
    member: httpx2.AsyncClient, email: str = WANTED, *, password: str = PASSWORD
) -> httpx2.Response:
    return await member.post(CHANGE_PAGE, data={"email": email, "current": password})


async def address_of(runtime: Runtime, user: User) -> str:
    found: str = await runtime.pool.fetchval("select email from users where id = $1", user.id)
    return found


async def add_other(runtime: Runtime, email: str = TAKEN, password_hash: str | None = None) -> User:
    async with runtime.transaction(OPERATOR) as work:
        return await accounts.add_user(work, UserWanted(email=email, name="Li"), password_hash=password_hash)


async def send(client: httpx2.AsyncClient, **changes: str) -> httpx2.Response:
    return await client.post("/signup", data={**FORM, **changes})


async def count(runtime: Runtime, table: str) -> int:
    found: int = await runtime.pool.fetchval(f"select count(*) from {table}")
    return found
