"""What credentials look like, and what is kept of them."""

import hashlib
import random
import re
import string
import zlib
from datetime import timedelta

import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.models import AGENTS, BASE62, CredentialKind, checksum, is_wellformed, new_key
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime

KEY, TOKEN, AGENT = CredentialKind.API_KEY, CredentialKind.SCIM_TOKEN, CredentialKind.AGENT_KEY
UNSEEN = "\u202e\u2066\u200b"


@pytest.mark.parametrize(
    ("kind", "agent", "shape"),
    [
        (KEY, None, r"svc_live_[0-9A-Za-z]{38}"),
        (TOKEN, None, r"svc_scim_[0-9A-Za-z]{38}"),
        *((AGENT, agent, rf"svc_agent_{agent}_[0-9a-f]{{64}}") for agent in AGENTS),
    ],
)
def test_a_new_credential_has_the_shape_of_the_contract(kind: CredentialKind, agent: str | None, shape: str) -> None:
    made = [new_key(kind, agent=agent) for _ in range(50)]

    assert all(re.fullmatch(shape, key) and is_wellformed(key, kind) for key in made)
    assert len(set(made)) == 50


def test_the_checksum_is_crc32_in_base62() -> None:
    stem = "svc_live_" + "0" * 32
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    value = sum(digits.index(digit) * 62**power for power, digit in enumerate(reversed(checksum(stem))))

    assert value == zlib.crc32(stem.encode())


@pytest.mark.parametrize("kind", [KEY, TOKEN])
def test_a_typing_mistake_is_seen_without_a_look_up(kind: CredentialKind) -> None:
    key, chance = new_key(kind), random.Random(7)
    for place in range(9, len(key)):
        other = chance.choice([letter for letter in BASE62 if letter != key[place]])
        assert not is_wellformed(key[:place] + other + key[place + 1 :], kind)
    for place in range(9, len(key) - 1):
        swapped = key[:place] + key[place + 1] + key[place] + key[place + 2 :]
        assert swapped == key or not is_wellformed(swapped, kind)


@pytest.mark.parametrize(
    "spoilt",
    [str.upper, str.swapcase, lambda key: key[:-1], lambda key: key + "0", lambda key: key + "\n", lambda _: ""],
)
def test_what_is_nearly_a_key_is_none(spoilt: object) -> None:
    key = new_key(KEY)

    assert callable(spoilt)
    assert not is_wellformed(spoilt(key), KEY)


def test_no_kind_passes_for_another() -> None:
    made = {KEY: new_key(KEY), TOKEN: new_key(TOKEN), AGENT: new_key(AGENT, agent="support")}

    assert [(a, b) for a in made for b in made if is_wellformed(made[a], b)] == [(kind, kind) for kind in made]
    assert not is_wellformed(new_key(AGENT, agent="nobody"), AGENT)


async def test_only_the_hash_and_the_last_four_are_kept(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Org", slug="org", plan=Plan.BUSINESS)
        made = [
            await access.create_api_key(work, user, name="k"),
            await access.create_scim_token(work, organization, name="t"),
            await access.create_agent_key(work, "support", name="a"),
        ]
    for (key, shown), table in zip(made, ("api_keys", "scim_tokens", "agent_keys"), strict=True):
        row = await runtime.pool.fetchrow(f"select * from {table} where id = $1", shown.id)
        assert row is not None
        assert row["hash"] == hashlib.sha256(key.encode()).digest()
        assert row["last_four"] == shown.last_four == key[-4:]


async def test_a_credential_needs_a_name_on_one_line(runtime: Runtime, user: User) -> None:
    for name in ("", " ", "x" * 101, "two\nlines", "nul\x00", "ends\n"):
        with pytest.raises(Invalid) as refused:
            async with runtime.transaction(OPERATOR) as work:
                await access.create_api_key(work, user, name=name)

        assert refused.value.details == {"name": "must be 1 to 100 characters on one line"}, name


async def test_a_credential_of_any_kind_has_a_name_that_can_be_seen(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Org", slug="org", plan=Plan.BUSINESS)
        for created in (
            access.create_api_key(work, user, name=UNSEEN),
            access.create_scim_token(work, organization, name=UNSEEN),
            access.create_agent_key(work, "support", name=UNSEEN),
        ):
            with pytest.raises(Invalid) as refused:
                await created
            assert refused.value.details == {"name": "must contain visible characters"}


async def test_a_key_that_got_such_a_name_earlier_can_still_be_rotated(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        _, old = await access.create_api_key(work, user, name="k")
        await work.db.execute("update api_keys set name = $1", UNSEEN)
        _, new = await access.rotate_credential(work, KEY, user.id, old.id, kept_for=timedelta(0))

    assert new.name == UNSEEN


async def test_there_are_ten_agents_and_no_other(runtime: Runtime) -> None:
    with pytest.raises(Invalid):
        async with runtime.transaction(OPERATOR) as work:
            await access.create_agent_key(work, "nobody", name="x")
    assert len(AGENTS) == 10
