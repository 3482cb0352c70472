"""Search: what is found is exactly what a plain look at every contact finds."""

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations, store
from openslot.domains.contacts.models import Contact, ContactSort, fold
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.contacts.conftest import Add
from tests.support.parts import how_many

ONE_HOUSE = settings(
    max_examples=how_many(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Letters that fold to others, to more than one or to themselves, and what LIKE would take for a pattern.
LETTERS = "aAbBiI\u0130\u0131ßsSéÉe\u0301Σ\u03c3\u03c2\ufb03fK\u212a%_\\.'@ 王李"
TEXTS = st.text(LETTERS, max_size=12)
PEOPLE = st.lists(st.tuples(TEXTS, TEXTS, st.none() | TEXTS), max_size=6)
SEARCHES = st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=4)

PEOPLES_SEARCHES: list[tuple[str, set[str]]] = [
    ("noor", {"Noor Haddad"}),
    ("HADDAD", {"Noor Haddad"}),
    ("o", {"Noor Haddad", "Jörg Groß", "100% Co_op"}),
    ("GROSS", {"Jörg Groß"}),
    ("jÖrg", {"Jörg Groß"}),
    ("istanbul", {"Ayşe"}),
    ("@istanbul", set()),
    ("100%", {"100% Co_op"}),
    ("o_o", {"100% Co_op"}),
    ("_", {"100% Co_op"}),
    ("%", {"100% Co_op"}),
    ("\\", set()),
    ("o%d", set()),
    ("x.example", {"Noor Haddad", "Jörg Groß", "Ayşe", "100% Co_op"}),
    ("haddad noor", set()),
    ("", {"Noor Haddad", "Jörg Groß", "Ayşe", "100% Co_op"}),
]


async def find(runtime: Runtime, owner: User, search: str) -> set[str]:
    found, total = await operations.list_contacts(runtime.work(OPERATOR), owner, search=search, limit=100)
    assert total == len(found)
    return {each.contact.name for each in found}


@ONE_HOUSE
@given(people=PEOPLE, searches=SEARCHES)
async def test_a_search_finds_what_looking_at_everyone_finds(
    runtime: Runtime, user: User, stranger: User, people: list[tuple[str, str, str | None]], searches: list[str]
) -> None:
    await runtime.pool.execute("delete from contacts")
    now = datetime.now(UTC)
    everyone = [
        Contact(
            id=new_id(),
            owner_id=owner.id,
            name=name,
            email=f"{local}{place}@x.example",
            company=company,
            created_at=now + timedelta(seconds=place),
            updated_at=now,
        )
        for place, (name, local, company) in enumerate(people)
        for owner in (user, stranger)
    ]
    for contact in everyone:
        await store.insert_contact(runtime.pool, contact)

    for search in [*searches, *(name[1:5] for name, _, _ in people)]:
        found, total = await operations.list_contacts(runtime.work(OPERATOR), user, search=search, limit=100)
        naive = [each for each in reversed(everyone) if each.owner_id == user.id and _matches(each, search)]
        assert [each.contact for each in found] == naive, search
        assert total == len(naive)


async def test_searches_people_make(runtime: Runtime, user: User, add: Add) -> None:
    await add("Noor Haddad", "n@x.example")
    await add("Jörg Groß", "j@x.example")
    await add("Ayşe", "a@x.example", company="İSTANBUL Ltd")
    await add("100% Co_op", "c@x.example")

    for search, names in PEOPLES_SEARCHES:
        assert await find(runtime, user, search) == names, search


async def test_notes_phones_and_tags_are_not_searched(runtime: Runtime, user: User, add: Add) -> None:
    await add(notes="secret", tags=("secret",), phone="+493012345678")

    assert await find(runtime, user, "secret") == set()
    assert await find(runtime, user, "+4930") == set()


async def test_an_owners_trigrams_are_like_no_other_owners(runtime: Runtime, user: User, stranger: User) -> None:
    shared = await runtime.pool.fetchval(
        "select contact_grams($1, $3) && contact_grams($2, $3)", user.id, stranger.id, "noor\nhaddad"
    )
    own = await runtime.pool.fetchval("select contact_grams($1, $2)", user.id, "noor\nhaddad\nab")

    assert shared is False
    assert len(set(own)) == len(own) == 6


async def test_a_search_goes_by_the_index_however_many_contacts_an_owner_has(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute(
        """insert into contacts (id, owner_id, name, email, search_text, created_at, updated_at)
        select gen_random_uuid(), $1, n::text, n || '@x.example', n || E'\\n' || n || '@x.example\\n', now(), now()
        from generate_series(1, 3000) n""",
        user.id,
    )
    await runtime.pool.execute("analyze contacts")
    searched = store._write_page(store.COUNTED.columns, ContactSort.NEWEST, first=4, given=2)
    for plan in ("force_custom_plan", "force_generic_plan"):
        async with runtime.pool.acquire() as connection:
            await connection.execute(f"set plan_cache_mode = {plan}")
            rows = await connection.fetch(f"explain {searched}", user.id, 20, 0, "299@x", ["299", "9@x"])
            await connection.execute("reset plan_cache_mode")
        assert "Bitmap Index Scan on contacts_search" in "\n".join(row[0] for row in rows)


def _matches(contact: Contact, search: str) -> bool:
    return any(fold(search) in fold(text) for text in (contact.name, contact.email, contact.company or ""))
