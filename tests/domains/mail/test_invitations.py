"""The mail by which someone is invited to an organization."""

from datetime import timedelta

import pytest

from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import ChosenBrand, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.profiles import operations as profiles
from openslot.domains.mail.models import MailKind
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import mails, messages, part, work_off
from tests.support.clocks import MovingClock

MARA = "mara@lindqvist.example"


async def invite(runtime: Runtime, user: User) -> str:
    """Invite the user to an organization with a color, and give the link."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor")
        await members.add_organization_member(work, organization, user)
        await profiles.choose_brand(work, organization, ChosenBrand(color="#0f766e"))
        return invitations.invitation_url(work.runtime, await invitations.make_invitation(work, organization, user))


@pytest.mark.parametrize(("locale", "words"), [("en", "Accept the invitation"), ("ar", "قبول الدعوة")])
async def test_an_invitation_has_its_link_and_the_organizations_colors(
    runtime: Runtime, clock: MovingClock, user: User, locale: str, words: str
) -> None:
    await runtime.pool.execute("update users set locale = $2 where id = $1", user.id, locale)
    link = await invite(runtime, user)
    await work_off(runtime, clock)
    (message,) = await messages(runtime, MARA)
    assert link in part(message, "text/plain")
    assert f'href="{link}"' in part(message, "text/html")
    assert "#0f766e" in part(message, "text/html")
    assert words in part(message, "text/plain")
    assert message["From"].addresses[0].display_name == "Harbor"
    assert [each.kind for each in await mails(runtime)] == [MailKind.INVITATION]


async def test_an_invitation_that_is_no_longer_valid_is_not_sent(
    runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await invite(runtime, user)
    clock.now += invitations.INVITATION_LASTS + timedelta(seconds=1)
    await work_off(runtime, clock)
    assert await mails(runtime) == []
    assert await runtime.pool.fetchval("select state from effects where reaction = 'mail.invite'") == "skipped"
