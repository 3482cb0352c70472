"""What SCIM sets off by mail: an invitation to a joiner, and one report of held departures to each administrator."""

from openslot.domains.accounts.invitations.operations import invitation_url
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.people.departures import approve, list_held
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import mails, messages, part
from tests.support.provisioning import DOMAIN, SUSPEND, Provider, work_ahead


async def suspend_all(provider: Provider, count: int) -> None:
    """Let so many join, and suspend them one after the other."""
    everyone = [(await provider.create(f"u{n}@{DOMAIN}"))["id"] for n in range(count)]
    for member_id in everyone:
        assert (await provider.patch(member_id, SUSPEND)).status_code == 200


async def make_administrator(runtime: Runtime, organization: Organization, user: User) -> None:
    """Give an organization someone who looks after it."""
    async with runtime.transaction(OPERATOR) as work:
        await add_organization_member(work, organization, user, role=Role.ADMIN)


async def test_a_joiner_is_sent_the_link(provider: Provider, runtime: Runtime) -> None:
    await provider.create(f"li@{DOMAIN}", displayName="Li")
    await work_ahead(runtime)

    (message,) = await messages(runtime, f"li@{DOMAIN}")
    assert message["subject"] == "You are invited to join Harbor"
    link = invitation_url(runtime, await runtime.pool.fetchval("select id from invitations"))
    assert link in part(message, "text/plain")
    assert link in part(message, "text/html")


async def test_many_held_departures_are_one_mail(
    provider: Provider, runtime: Runtime, organization: Organization, user: User
) -> None:
    await make_administrator(runtime, organization, user)
    await suspend_all(provider, 9)
    await work_ahead(runtime)

    (message,) = await messages(runtime, user.email)
    assert message["subject"] == "4 departures from Harbor wait for your decision"
    assert [f"u{n}@{DOMAIN}" in part(message, "text/plain") for n in range(9)] == [False] * 5 + [True] * 4


async def test_nobody_is_told_of_what_was_decided_meanwhile(
    provider: Provider, runtime: Runtime, organization: Organization, user: User
) -> None:
    await make_administrator(runtime, organization, user)
    await suspend_all(provider, 7)
    async with runtime.transaction(OPERATOR) as work:
        for held in await list_held(work, organization):
            await approve(work, organization, held)
    await work_ahead(runtime)

    assert await mails(runtime, user.email) == []
