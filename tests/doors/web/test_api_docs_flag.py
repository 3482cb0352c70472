"""The API's documentation can be switched off."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import FlagKey
from tests.support.flags import SWITCHED, switch
from tests.support.live import connect


@SWITCHED
async def test_the_documentation_is_there_only_if_it_is_on(
    runtime: Runtime, member: httpx2.AsyncClient, user: User, everyone: bool, own: bool | None, works: bool
) -> None:
    await switch(runtime, FlagKey.API_DOCS, user, everyone=everyone, own=own)

    assert (await member.get("/api/docs")).status_code == (200 if works else 404)
    async with connect(str(member.base_url)) as stranger:
        assert (await stranger.get("/api/docs")).status_code == (200 if everyone else 404)
        assert (await stranger.get("/api/openapi.json")).status_code == (200 if everyone else 404)
