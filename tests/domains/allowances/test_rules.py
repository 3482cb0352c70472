"""How much each cause may spend, and who counts together."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslot.domains.allowances.errors import lasting
from openslot.domains.allowances.models import CauseKind, Cost, CostCause
from openslot.domains.allowances.rules import KEPT, allow, find_free_part, find_mail_domain, find_network

ACCOUNTS = st.builds(
    CostCause,
    kind=st.just(CauseKind.ACCOUNT),
    name=st.just("someone"),
    age=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=4000)),
    is_trusted=st.booleans(),
    people=st.integers(0, 200),
)


@pytest.mark.parametrize(
    ("age", "people", "is_trusted", "most"),
    [
        (timedelta(0), 0, False, 20),
        (timedelta(hours=23), 0, False, 20),
        (timedelta(days=1), 0, False, 40),
        (timedelta(days=7), 0, False, 100),
        (timedelta(days=30), 0, False, 400),
        (timedelta(0), 9, False, 20),
        (timedelta(0), 10, False, 40),
        # People can be invented: an account of a day at most doubles what it has.
        (timedelta(0), 100_000, False, 40),
        (timedelta(days=7), 20, False, 140),
        (timedelta(days=7), 100_000, False, 200),
        (timedelta(days=30), 100_000, False, 800),
        (timedelta(0), 0, True, 5000),
    ],
)
def test_an_account_may_cause_more_the_older_and_the_more_wanted_it_is(
    age: timedelta, people: int, is_trusted: bool, most: int
) -> None:
    cause = CostCause(kind=CauseKind.ACCOUNT, name="", age=age, people=people, is_trusted=is_trusted)

    assert allow(Cost.MAIL, cause, base=20).most == most


@given(
    younger=ACCOUNTS,
    more=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400)),
    cost=st.sampled_from(Cost),
)
def test_no_account_gets_less_by_age_and_none_without_trust_gets_what_trust_gives(
    younger: CostCause, more: timedelta, cost: Cost
) -> None:
    older = CostCause(
        kind=younger.kind, name="", age=younger.age + more, is_trusted=younger.is_trusted, people=younger.people
    )
    trusted = CostCause(kind=younger.kind, name="", is_trusted=True)
    figures = [allow(cost, each, base=7).most for each in (younger, older, trusted)]

    assert 7 <= figures[0] <= figures[1] <= figures[2]


@pytest.mark.parametrize("cost", Cost)
@pytest.mark.parametrize("kind", CauseKind)
def test_every_cost_has_an_allowance_for_every_cause(cost: Cost, kind: CauseKind) -> None:
    allowed = allow(cost, CostCause(kind=kind, name=""), base=3)

    assert allowed.most >= 3
    assert allowed.window > timedelta(0)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("93.184.216.34", "93.184.216.0/24"),
        ("93.184.216.255", "93.184.216.0/24"),
        ("93.184.217.1", "93.184.217.0/24"),
        ("2606:2800:220:1::/64", "2606:2800:220::/48"),
        ("2606:2800:221::/64", "2606:2800:221::/48"),
        ("127.0.0.1", None),
        ("10.1.2.3", None),
        ("172.28.80.129", None),
        ("fd00::/64", None),
        ("unknown", None),
        ("", None),
    ],
)
def test_addresses_of_one_network_count_together(address: str, network: str | None) -> None:
    assert find_network(address) == network


@pytest.mark.parametrize(
    ("email", "domain"),
    [
        ("mara@lindqvist.example", "lindqvist.example"),
        ("mara@Mail.Lindqvist.Example", "lindqvist.example"),
        ("mara@a.b.c.spam.shop", "spam.shop"),
        ("mara@x1.spam.co.uk", "spam.co.uk"),
        ("mara@x2.spam.com.br", "spam.com.br"),
        ("mara@s1.x7q.de", "x7q.de"),
        ("mara@s2.x7q.de", "x7q.de"),
        ("mara@mail.sap.fr", "sap.fr"),
        ("mara@x1.spam.ac.jp", "spam.ac.jp"),
        ("mara@x1.spam.gob.mx", "spam.gob.mx"),
        ("mara@gmail.com", None),
        ("mara@GMAIL.com", None),
        ("mara@yahoo.co.uk", None),
        ("mara@", None),
    ],
)
def test_addresses_of_one_registered_domain_count_together(email: str, domain: str | None) -> None:
    assert find_mail_domain(email) == domain


@given(
    spent=st.lists(st.integers(0, 5), min_size=KEPT, max_size=KEPT), amount=st.integers(1, 8), most=st.integers(1, 8)
)
def test_what_is_free_again_is_found_by_the_parts_that_end(spent: list[int], amount: int, most: int) -> None:
    passed = find_free_part(spent, amount=amount, most=most)

    assert passed == KEPT or sum(spent[passed:]) + amount <= most
    assert passed == 0 or sum(spent[passed - 1 :]) + amount > most


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1, "1 second"), (61, "2 minutes"), (3600, "60 minutes"), (3750, "63 minutes"), (7201, "3 hours")],
)
def test_a_wait_is_said_in_a_unit_that_says_little_too_much(seconds: int, said: str) -> None:
    assert str(lasting(timedelta(seconds=seconds))) == said
