"""Accounts: what they must look like, what is taken, and who may not be shut out."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.errors import (
    DomainAlreadyClaimed,
    EmailAlreadyExists,
    LastAdministratorRequired,
    MemberAlreadyExists,
    OrganizationSlugAlreadyExists,
    UsernameAlreadyExists,
    UserNotFound,
)
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import PLAIN_PAGE, RESERVED, User, UserWanted
from openslot.domains.accounts.organizations.operations import (
    add_domain,
    add_organization,
    change_organization_settings,
)
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.profiles.operations import get_page_look, set_page_look
from openslot.domains.accounts.rules import check_user, find_username_fault, suggest_username
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work


def wanted(email: str = "new@person.example", *, name: str = "New Person", username: str | None = None) -> UserWanted:
    return UserWanted(email=email, name=name, username=username)


async def add(runtime: Runtime, person: UserWanted) -> User:
    async with runtime.transaction(OPERATOR) as work:
        return await accounts.add_user(work, person)


async def test_e_mail_address_and_username_are_taken_in_any_letter_case(runtime: Runtime, user: User) -> None:
    for email in ("mara@lindqvist.example", "Mara@Lindqvist.Example", "MARA@LINDQVIST.EXAMPLE"):
        with pytest.raises(EmailAlreadyExists):
            await add(runtime, wanted(email))
        async with runtime.transaction(OPERATOR) as work:
            assert (await accounts.get_user_by_email(work, email)).id == user.id
    for username in ("mara", "MARA", " Mara "):
        with pytest.raises(UsernameAlreadyExists):
            await add(runtime, wanted(username=username))


async def test_of_equal_accounts_at_once_one_is_opened(runtime: Runtime) -> None:
    results = await asyncio.gather(*(add(runtime, wanted(username="one")) for _ in range(8)), return_exceptions=True)

    assert len([result for result in results if isinstance(result, User)]) == 1
    assert all(isinstance(result, User | EmailAlreadyExists | UsernameAlreadyExists) for result in results)


async def test_a_username_that_nobody_chose_is_a_free_one(runtime: Runtime) -> None:
    people_added = [await add(runtime, wanted(f"p{n}@x.example", name="Anna Ek")) for n in range(3)]

    assert [one.username for one in people_added] == ["anna-ek", "anna-ek-2", "anna-ek-3"]


async def test_accounts_opened_at_once_get_a_username_each(runtime: Runtime) -> None:
    people_added = await asyncio.gather(
        *(add(runtime, wanted(f"p{n}@x.example", name="Anna Ek")) for n in range(8)),
    )

    names = {"anna-ek", *(f"anna-ek-{n}" for n in range(2, 9))}
    assert {one.username for one in people_added} == names


async def test_a_username_that_is_taken_before_the_commit_is_given_to_nobody_else(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as first:
        taken = await accounts.add_user(first, wanted("a@x.example", name="Anna Ek"))
        second = asyncio.create_task(add(runtime, wanted("b@x.example", name="Anna Ek")))
        await asyncio.wait([second], timeout=0.2)
        assert not second.done()
    assert (taken.username, (await second).username) == ("anna-ek", "anna-ek-2")


async def test_a_username_that_was_given_up_is_free(runtime: Runtime) -> None:
    with pytest.raises(EmailAlreadyExists):
        async with runtime.transaction(OPERATOR) as first:
            await accounts.add_user(first, wanted("a@x.example", name="Anna Ek"))
            second = asyncio.create_task(add(runtime, wanted("b@x.example", name="Anna Ek")))
            await asyncio.wait([second], timeout=0.2)
            raise EmailAlreadyExists
    assert (await second).username == "anna-ek"


async def test_of_equal_accounts_without_a_username_one_is_opened(runtime: Runtime) -> None:
    results = await asyncio.gather(*(add(runtime, wanted()) for _ in range(8)), return_exceptions=True)

    assert sorted(type(result).__name__ for result in results) == [*["EmailAlreadyExists"] * 7, "User"]


async def test_every_page_of_users_tells_the_whole_total(runtime: Runtime) -> None:
    added = [await add(runtime, wanted(f"p{n}@x.example", name=f"Person {n}", username=f"p{n}")) for n in range(3)]
    work = runtime.work(OPERATOR)
    pages = [await accounts.list_users(work, page=page, limit=2) for page in (1, 2, 3)]
    searches = [await accounts.list_users(work, search="PERSON 1", page=page, limit=2) for page in (1, 2)]

    assert [([one.id for one in found], total) for found, total in pages] == [
        ([added[2].id, added[1].id], 3),
        ([added[0].id], 3),
        ([], 3),
    ]
    assert [([one.id for one in found], total) for found, total in searches] == [([added[1].id], 1), ([], 1)]
    assert await accounts.list_users(work, search="nobody") == ([], 0)


@pytest.mark.parametrize("username", sorted(RESERVED))
def test_no_reserved_word_becomes_a_username(username: str) -> None:
    assert find_username_fault(username) is not None
    assert suggest_username(username, f"{username}@x.example") not in RESERVED


@pytest.mark.parametrize("username", ["a", "a-b", "a1", "1", "x" * 50, "mara-lindqvist"])
def test_letters_digits_and_inner_hyphens_make_a_username(username: str) -> None:
    assert find_username_fault(username) is None


@pytest.mark.parametrize(
    "username", ["", "-a", "a-", "A", "ä", "a b", "a/b", "a.b", "x" * 51, "a\n", "a\x00", "\u0661"]
)
def test_anything_else_does_not(username: str) -> None:
    assert find_username_fault(username) is not None


@pytest.mark.parametrize(
    ("name", "email", "username"),
    [
        ("Mara Lindqvist", "m@x.example", "mara-lindqvist"),
        ("Jürgen Groß", "j@x.example", "jurgen-gro"),
        ("漢字", "kanji@x.example", "kanji"),
        ("Admin", "sales@x.example", "sales"),
        ("漢字", "admin@x.example", "host"),
        ("-", "---@x.example", "host"),
        ("x" * 200, "m@x.example", "x" * 40),
    ],
)
def test_a_username_is_suggested_from_the_name_or_the_address(name: str, email: str, username: str) -> None:
    assert suggest_username(name, email) == username
    assert find_username_fault(suggest_username(name, email)) is None


def test_every_fault_of_an_account_is_named_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        check_user(UserWanted(email="nobody", name="two\nlines", username="admin", zone="Mars/Base"))

    assert refused.value.details == {
        "email": "is not a valid email address",
        "name": "must be 1 to 200 characters on one line",
        "username": "is reserved",
        "timezone": "is not a time zone; use a name such as Europe/Berlin",
    }


@pytest.mark.parametrize("email", ["a@b", "a b@x.example", "a\x00@x.example", "x" * 250 + "@x.example", "@", ""])
def test_what_is_no_e_mail_address_is_refused(email: str) -> None:
    with pytest.raises(Invalid):
        check_user(wanted(email))


async def test_a_disabled_user_can_be_opened_again(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user, reason="left")
        closed = await accounts.get_user(work, user.id)
        again = await accounts.set_user_disabled(work, user, reason="left")
        await accounts.set_user_enabled(work, closed)
        opened = await accounts.get_user(work, user.id)
        events = await work.db.fetch("select type from events where type like 'user.%abled' order by no")

    assert closed.disabled_at is not None
    assert (again, opened.disabled_at) == (False, None)
    assert [event["type"] for event in events] == ["user.disabled", "user.enabled"]


async def test_the_last_administrator_can_be_neither_disabled_nor_unmade(
    runtime: Runtime, admin: User, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(LastAdministratorRequired):
            await people.disable_user(work, admin)
        with pytest.raises(LastAdministratorRequired):
            await accounts.set_admin(work, admin, is_admin=False)
        second = await accounts.set_admin(work, user, is_admin=True)
        await people.disable_user(work, admin)
        with pytest.raises(LastAdministratorRequired):
            await accounts.set_admin(work, second, is_admin=False)


async def test_two_administrators_who_disable_each_other_at_once_leave_one(
    runtime: Runtime, admin: User, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        second = await accounts.set_admin(work, user, is_admin=True)

    async def disable(one: User) -> None:
        async with runtime.transaction(OPERATOR) as work:
            await people.disable_user(work, one)

    results = await asyncio.gather(disable(admin), disable(second), return_exceptions=True)

    assert sorted(type(result).__name__ for result in results) == ["LastAdministratorRequired", "NoneType"]
    assert await runtime.pool.fetchval("select count(*) from users where is_admin and disabled_at is null") == 1


async def test_slugs_domains_and_memberships_are_had_once(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        first = await add_organization(work, name="One", slug="one")
        second = await add_organization(work, name="Two", slug="two")
        await add_domain(work, first, "Lindqvist.example", verified=True)
        await add_organization_member(work, first, user)
    tries: list[tuple[type[Refusal], Callable[[Work], Awaitable[object]]]] = [
        (OrganizationSlugAlreadyExists, lambda work: add_organization(work, name="Other", slug="ONE")),
        (DomainAlreadyClaimed, lambda work: add_domain(work, second, "lindqvist.EXAMPLE", verified=True)),
        (MemberAlreadyExists, lambda work: add_organization_member(work, first, user)),
        (UserNotFound, lambda work: accounts.get_user(work, new_id())),
    ]
    for refusal, attempt in tries:
        with pytest.raises(refusal):
            async with runtime.transaction(OPERATOR) as work:
                await attempt(work)


RECIPIENTS = [
    ("Jonas@Okafor.example", "jonas@okafor.example"),
    ("jonas+news@okafor.example", "jonas@okafor.example"),
    ("JONAS+a+b@okafor.example", "jonas@okafor.example"),
    ("jonas.okafor@okafor.example", "jonas.okafor@okafor.example"),
    ("jonas-1@okafor.example", "jonas-1@okafor.example"),
    ("J.o.n.a.s+x@gmail.com", "jonas@gmail.com"),
    ("jonas@googlemail.com", "jonas@gmail.com"),
    ("j.onas@mail.gmail.com", "j.onas@mail.gmail.com"),
    ("+news@okafor.example", "+news@okafor.example"),
    ("jörg+x@münchen.example", "jörg@münchen.example"),
]


async def test_limits_count_the_addresses_of_one_mailbox_together(runtime: Runtime) -> None:
    for address, canonical in RECIPIENTS:
        assert await runtime.pool.fetchval("select canonical_recipient($1)", address) == canonical, address


async def test_a_welcome_text_that_no_page_can_show_changes_nothing(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await set_page_look(work, user, "  Hello!\r\nSecond line ", shows_footer=True)
        for text, fault in (("Bell\x07", "characters"), ("x" * 2001, "at most"), ("[x](http://a.example)", "https://")):
            with pytest.raises(Invalid) as refused:
                await set_page_look(work, user, text, shows_footer=False)
            assert fault in refused.value.faults["welcome"]
        assert await get_page_look(work, user) == ("Hello!\nSecond line", PLAIN_PAGE)


@pytest.mark.parametrize("share", [-1, 101])
async def test_the_share_that_may_leave_is_a_percentage(runtime: Runtime, share: int) -> None:
    async with runtime.transaction(OPERATOR) as work:
        harbor = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        with pytest.raises(Invalid) as refused:
            await change_organization_settings(work, harbor, departure_share=share)
    assert refused.value.faults == {"departureShare": "must be 0 to 100"}
