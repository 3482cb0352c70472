"""Names that can't be seen are refused at every door, and no name turns the words beside it."""

import re

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User, UserSettings
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.rules import find_event_type_faults
from openslot.domains.oidc.models import read_identity
from openslot.doors.scim.resources import get_name
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import INVISIBLE
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN
from tests.support.page import read_page

UNSEEN = "\u202e\u2066\u200b"
TURNED = "Mara \u202egpj.exe"


async def test_an_invitee_who_can_not_be_seen_is_told_at_the_field(
    client: httpx2.AsyncClient, intro: EventType
) -> None:
    body = {
        "username": "mara",
        "eventTypeSlug": "intro-call",
        "startTime": TEN,
        "inviteeName": UNSEEN,
        "inviteeEmail": "jonas@okafor.example",
        "timezone": "UTC",
    }
    answer = await client.post("/api/bookings", json=body)
    form = await client.post(PAGE, data={"start": TEN, "name": UNSEEN, "email": "jonas@okafor.example"})

    assert (answer.status_code, answer.json()["details"]["inviteeName"]) == (400, str(INVISIBLE))
    assert form.status_code == 400
    assert read_page(form).faults == {"name": "Must contain visible characters"}


async def test_hosts_and_organizations_and_event_types_can_be_seen(
    runtime: Runtime, host: User, intro: EventType
) -> None:
    for change in (
        lambda work: accounts.change_user_settings(work, host, UserSettings(name=UNSEEN)),
        lambda work: organizations.add_organization(work, name=UNSEEN, slug="unseen"),
    ):
        with pytest.raises(Invalid) as refused:
            async with runtime.transaction(OPERATOR) as work:
                await change(work)
        assert refused.value.details == {"name": str(INVISIBLE)}
    assert find_event_type_faults(replace(intro, name=UNSEEN)) == {"name": str(INVISIBLE)}


def test_providers_names_that_can_not_be_seen_are_passed_over() -> None:
    resource = {"name": {"formatted": UNSEEN, "givenName": "\u200b"}, "displayName": "Mara", "userName": "m@x.example"}
    claims = {"sub": "1", "name": UNSEEN, "email": "m@x.example"}

    assert get_name(resource) == "Mara"
    assert read_identity(claims, issuer="https://issuer.example").name is None


async def test_a_title_is_not_turned_by_the_name_in_it(
    client: httpx2.AsyncClient, runtime: Runtime, host: User, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_user_settings(work, host, UserSettings(name=f"{TURNED} <b>&"))

    for path in ("/mara", PAGE):
        page = (await client.get(path)).text
        found = re.search("<title>(.*?)</title>", page, re.DOTALL)
        assert found is not None
        assert "\u202e" not in found[1]
        # A name that looks like a link is no link either.
        assert "Mara gpj.\u2060exe &lt;b&gt;&amp;" in found[1]
