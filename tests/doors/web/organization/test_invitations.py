"""Invitations: sent, accepted, sent again and withdrawn."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.access.operations import create_scim_token
from openslot.domains.accounts.errors import InvitationLimitExceeded
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.models import Organization, User, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.mail.ports import Mailer
from openslot.domains.people import operations as people
from openslot.domains.people import organization_deletions
from openslot.doors.scim.operations import tidy_scim
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.mail.conftest import messages
from tests.domains.mail.fake_mailer import FakeMailer
from tests.doors.web.organization.conftest import Harbor, act_as, add_user
from tests.doors.web.organization.support import invite, link_of, member_id_of, state_of
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.passwords import PASSWORD
from tests.support.provisioning import Provider

MEMBERS = "/organization/members"


async def test_a_stranger_is_invited_and_joins_by_accepting(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    answer = await invite(owner, "finn@x.example", name="Whatever", role="admin")
    finn = await member_id_of(runtime, "finn@x.example")
    assert finn is not None
    assert answer.headers["location"] == f"{MEMBERS}/{finn}?done=kept"
    assert "The invitation is in the mailbox" in read_page(await owner.get(answer.headers["location"])).notices[0]
    shown = await owner.get(f"{MEMBERS}/{finn}")

    # Nothing of a stranger's account is shown before its owner has agreed.
    assert harbor.free.name not in shown.text
    assert harbor.free.name not in (await owner.get(MEMBERS)).text
    assert "No member matches" in read_page(await owner.get(f"{MEMBERS}?q=Finn+Lind")).text
    assert await state_of(owner, finn) == "Invited"
    await work_off(runtime, clock)
    assert [mail["subject"] for mail in await messages(runtime, "finn@x.example")] == ["You are invited to join Harbor"]
    for deed in ("remove", "suspend"):
        assert (await owner.get(f"{MEMBERS}/{finn}/{deed}")).status_code == 303
        assert (await owner.post(f"{MEMBERS}/{finn}/{deed}")).status_code == 404
    done = await owner.post(await link_of(runtime, "finn@x.example"))
    assert done.status_code == 303
    assert await state_of(owner, finn) == "Active"
    assert harbor.free.name in read_page(await owner.get(MEMBERS)).text
    assert (await (await act_as(owner, runtime, harbor.free)).get(MEMBERS)).status_code == 200


async def test_who_has_no_account_gets_one_with_a_first_password(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    del harbor
    await invite(owner, "li@elsewhere.example", name="Li Wen")
    link = await link_of(runtime, "li@elsewhere.example")
    owner.headers.pop("cookie")
    done = await owner.post(link, data={"password": PASSWORD})

    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert await runtime.pool.fetchval("select name from users where email = 'li@elsewhere.example'") == "Li Wen"


async def test_an_account_in_a_verified_domain_joins_at_once(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    await add_user(runtime, "pia", password_hash)
    answer = await invite(owner, "PIA@harbor.example")
    pia = await member_id_of(runtime, "pia@harbor.example")

    assert answer.headers["location"] == f"{MEMBERS}?done=added"
    assert pia is not None
    assert await state_of(owner, pia) == "Active"
    assert await runtime.pool.fetchval("select action from change_log") == "member.added"
    assert harbor.organization.id is not None


WRONG_INVITATIONS: list[tuple[dict[str, str], str]] = [
    ({"email": ""}, "Enter an email address"),
    ({"email": "not-an-address"}, "Is not a valid email address"),
    ({"email": "mara@harbor.example"}, "This user is already a member"),
    ({"email": "MARA@HARBOR.example"}, "This user is already a member"),
    ({"email": "x@y.example", "role": "emperor"}, "Must be one of"),
    ({"email": "x@y.example", "name": "n" * 201}, "Must have at most 200 characters"),
    ({"email": "x@y.example", "name": "a\x01b"}, "Has characters that are not allowed"),
]


async def test_a_wrong_invitation_is_explained_at_its_field(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    del harbor
    before = await runtime.pool.fetchval("select count(*) from users")
    for fields, fault in WRONG_INVITATIONS:
        answer = await owner.post(MEMBERS, data=fields)

        assert answer.status_code == 400, (fields, fault)
        assert fault in read_page(answer).text, (fields, fault)
        assert fields["email"] in answer.text, (fields, fault)
        assert await runtime.pool.fetchval("select count(*) from users") == before, (fields, fault)
        assert await runtime.pool.fetchval("select count(*) from invitations") == 0, (fields, fault)


async def test_an_invitation_is_sent_again_and_the_old_link_ends(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    await invite(owner, harbor.free.email)
    finn = await member_id_of(runtime, harbor.free.email)
    assert finn is not None
    old = await link_of(runtime, harbor.free.email)
    too_soon = await owner.post(f"{MEMBERS}/{finn}/invitation")
    assert (too_soon.status_code, "less than 5 minutes old" in read_page(too_soon).notices[0]) == (409, True)
    clock.now += timedelta(days=15)
    await act_as(owner, runtime, harbor.owner)
    assert await state_of(owner, finn) == "Invitation expired"
    assert (await owner.post(f"{MEMBERS}/{finn}/invitation")).status_code == 303
    new = await link_of(runtime, harbor.free.email)

    assert await state_of(owner, finn) == "Invited"
    assert ((await owner.get(old)).status_code, (await owner.get(new)).status_code) == (403, 200)
    await owner.post(new)
    again = await owner.post(f"{MEMBERS}/{finn}/invitation")
    assert (again.status_code, "accepted or withdrawn" in read_page(again).notices[0]) == (409, True)


async def test_a_withdrawn_invitation_leaves_nothing_behind(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await invite(owner, harbor.free.email)
    await invite(owner, "new@elsewhere.example")
    for email in (harbor.free.email, "new@elsewhere.example"):
        link, member_id = await link_of(runtime, email), await member_id_of(runtime, email)
        answer = await owner.post(f"{MEMBERS}/{member_id}/withdraw")
        assert answer.headers["location"] == f"{MEMBERS}?done=withdrawn"
        assert (await owner.get(link)).status_code == 403
        assert (await owner.get(f"{MEMBERS}/{member_id}")).status_code == 404
    emails = {row["email"] for row in await runtime.pool.fetch("select email from users")}

    # The account that was opened for the invitation is gone; the one that was there before is not.
    assert harbor.free.email in emails
    assert "new@elsewhere.example" not in emails
    assert await runtime.pool.fetchval("select count(*) from invitations") == 0


async def test_a_withdrawn_invitation_deletes_no_account_that_was_there_before(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.welcome_user(work, UserWanted(email="olli@elsewhere.example", name="Olli"))
    clock.now += timedelta(seconds=1)
    await invite(owner, "olli@elsewhere.example")
    member_id = await member_id_of(runtime, "olli@elsewhere.example")
    assert (await owner.post(f"{MEMBERS}/{member_id}/withdraw")).status_code == 303

    assert await runtime.pool.fetchval("select name from users where email = 'olli@elsewhere.example'") == "Olli"
    assert harbor.organization.id is not None


async def test_an_accepted_invitation_can_not_be_withdrawn(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await invite(owner, harbor.free.email)
    finn = await member_id_of(runtime, harbor.free.email)
    await owner.post(await link_of(runtime, harbor.free.email))
    answer = await owner.post(f"{MEMBERS}/{finn}/withdraw")

    assert (answer.status_code, "accepted or withdrawn" in read_page(answer).notices[0]) == (409, True)
    assert await member_id_of(runtime, harbor.free.email) == finn


async def test_an_organization_sends_500_invitations_a_day(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    await runtime.pool.execute(
        """insert into sent_invitations (organization_id, recipient, own_domain, at)
        select $1, n::text::bytea, false, $2 from generate_series(1, 500) n""",
        harbor.organization.id,
        clock.now,
    )
    refused = await invite(owner, "one-more@elsewhere.example")
    assert (
        refused.status_code,
        "500 invitations within a day. Try again in 24 hours" in read_page(refused).faults["email"],
    ) == (400, True)
    # The organization's own people are not limited by it.
    assert (await invite(owner, "own@harbor.example")).status_code == 303
    clock.now += timedelta(days=1, seconds=1)
    await act_as(owner, runtime, harbor.owner)
    assert (await invite(owner, "one-more@elsewhere.example")).status_code == 303


async def invite_and_withdraw(owner: httpx2.AsyncClient, runtime: Runtime, email: str) -> bool:
    """Invite a stranger and take it back; False if the invitation is refused."""
    if (await invite(owner, email)).status_code != 303:
        return False
    member_id = await member_id_of(runtime, email)
    assert (await owner.post(f"{MEMBERS}/{member_id}/withdraw")).status_code == 303
    return True


@pytest.mark.rest("lets many write at once")
async def test_withdrawing_makes_no_room_for_more_mail(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    sent = [await invite_and_withdraw(owner, runtime, f"Stranger+{n}@x.example") for n in range(12)]
    assert sent == [True] * 5 + [False] * 7
    refused = await invite(owner, "stranger@x.example")
    assert (
        refused.status_code,
        "as many invitations as allowed. Try again in 24 hours" in read_page(refused).faults["email"],
    ) == (400, True)
    assert await member_id_of(runtime, "stranger@x.example") is None
    for days, more in ((1, 5), (1, 0), (1, 0), (3, 0), (1.1, 5)):
        clock.now += timedelta(days=days, seconds=1)
        await act_as(owner, runtime, harbor.owner)
        sent = [await invite_and_withdraw(owner, runtime, "stranger@x.example") for _ in range(6)]
        assert sum(sent) == more, days
    assert await runtime.pool.fetchval("select count(*) from sent_invitations") == 15
    await tidy_scim(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from sent_invitations") == 10


async def test_another_organization_makes_no_room_for_more_mail_but_the_own_domain_has_its_own(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        other = await add_organization(work, name="Other", slug="other", plan=Plan.BUSINESS)
        for email in ("stranger@x.example", "new@harbor.example"):
            user = await people.welcome_user(work, UserWanted(email=email, name="New"))
            for _ in range(5):
                await invitations.invite_within_limits(work, other, user)
        await organization_deletions.delete_as_operator(work, other)

    assert (await invite(owner, "stranger@x.example")).status_code == 400
    assert (await invite(owner, "new@harbor.example")).status_code == 303
    assert harbor.organization.id is not None


async def test_of_many_invitations_at_once_no_more_than_five_reach_one_person(runtime: Runtime, harbor: Harbor) -> None:
    async with runtime.transaction(OPERATOR) as work:
        everyone = [
            await people.welcome_user(
                work, UserWanted(email=f"stranger+{n}@x.example", name="S", username=f"stranger{n}")
            )
            for n in range(8)
        ]
        others = [await add_organization(work, name="Other", slug=f"other{n}", plan=Plan.BUSINESS) for n in range(8)]

    async def send(organization: Organization, user: User) -> bool:
        try:
            async with runtime.transaction(OPERATOR) as work:
                await invitations.invite_within_limits(work, organization, user)
        except InvitationLimitExceeded:
            return False
        return True

    sent = await asyncio.gather(*(send(*each) for each in zip(others, everyone, strict=True)))
    assert sum(sent) == 5
    assert harbor.organization.id is not None


async def test_what_a_provider_could_not_send_is_shown_and_sent_later(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        token, _ = await create_scim_token(work, harbor.organization, name="Okta")
    provider = Provider(owner, token)
    for _ in range(5):
        made = await provider.create("stranger@x.example")
        await provider.send("DELETE", f"/Users/{made['id']}")
    made = await provider.create("stranger@x.example")
    page = f"{MEMBERS}/{made['id']}"
    shown = await owner.get(page)
    assert "Not sent: this address was sent as many as allowed" in read_page(shown).text
    assert "Invite again" in read_page(shown).buttons
    clock.now += timedelta(minutes=6)
    refused = await owner.post(f"{page}/invitation")
    assert (refused.status_code, "Try again in 24 hours" in read_page(refused).notices[0]) == (409, True)
    clock.now += timedelta(days=1, seconds=1)
    await act_as(owner, runtime, harbor.owner)
    assert (await owner.post(f"{page}/invitation")).status_code == 303
    shown = await owner.get(page)
    assert ("Not sent" in shown.text, "Valid until" in read_page(shown).text) == (False, True)


async def test_only_who_can_read_the_mailbox_sees_the_link_and_only_without_a_mail_server(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, settings: Settings, clock: MovingClock
) -> None:
    await invite(owner, "finn@x.example")
    page = f"{MEMBERS}/{await member_id_of(runtime, 'finn@x.example')}"
    link = await link_of(runtime, "finn@x.example")
    shown = await owner.get(page)
    assert link not in shown.text
    assert "Ask the administrator of this site" in read_page(shown).text
    asks = "Ask the administrator of this site to hand over the link"
    assert asks in read_page(await owner.get(MEMBERS)).text

    await runtime.pool.execute("update users set is_admin = true where id = $1", harbor.owner.id)
    shown = await owner.get(page)
    assert link in read_page(shown).text
    assert "Hand the link over yourself" in read_page(await owner.get(MEMBERS)).text
    assert "Send the invitation again" not in read_page(shown).buttons
    app = create_app(settings, clock=clock)
    app._open_runtime = lambda: open_runtime(settings, clock=clock, fakes={Mailer: FakeMailer()})
    async with serving(app) as base_url, connect(base_url, timeout=60) as with_server:
        sent = await (await act_as(with_server, runtime, harbor.owner)).get(page)
    assert link not in sent.text
    assert "Invitation sent" in read_page(sent).text

    # An invitation that is no longer valid has no link, and whoever may not decide sees none.
    clock.pass_time(days=15)
    assert link not in (await owner.get(page)).text
