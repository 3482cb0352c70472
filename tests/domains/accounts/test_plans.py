"""Which plan counts: the highest of one's own, a running trial, and those of active memberships."""

from datetime import UTC, datetime, timedelta

import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan, effective_plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime

NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)
BEFORE, AFTER = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)
FREE, PRO, BUSINESS = Plan.FREE, Plan.PRO, Plan.BUSINESS
Term = tuple[Plan, datetime | None]
NONE = (None, None)


@pytest.mark.parametrize(
    ("own", "trial", "organizations", "counts"),
    [
        ((FREE, None), NONE, [], FREE),
        ((PRO, None), NONE, [], PRO),
        ((BUSINESS, None), NONE, [], BUSINESS),
        ((PRO, AFTER), NONE, [], PRO),
        ((PRO, NOW), NONE, [], FREE),
        ((PRO, BEFORE), NONE, [], FREE),
        ((FREE, BEFORE), NONE, [], FREE),
        ((FREE, None), (PRO, AFTER), [], PRO),
        ((FREE, None), (PRO, NOW), [], FREE),
        ((FREE, None), (BUSINESS, BEFORE), [], FREE),
        ((PRO, None), (BUSINESS, AFTER), [], BUSINESS),
        ((BUSINESS, None), (PRO, AFTER), [], BUSINESS),
        ((PRO, BEFORE), (BUSINESS, AFTER), [], BUSINESS),
        ((FREE, None), NONE, [(BUSINESS, None)], BUSINESS),
        ((FREE, None), NONE, [(BUSINESS, AFTER)], BUSINESS),
        ((FREE, None), NONE, [(BUSINESS, NOW)], FREE),
        ((PRO, None), NONE, [(BUSINESS, BEFORE)], PRO),
        ((PRO, None), NONE, [(FREE, None)], PRO),
        ((FREE, None), NONE, [(FREE, None), (PRO, None), (BUSINESS, BEFORE)], PRO),
        ((PRO, BEFORE), (PRO, BEFORE), [(PRO, BEFORE)], FREE),
    ],
)
def test_the_highest_plan_that_still_runs_counts(
    own: Term, trial: tuple[Plan | None, datetime | None], organizations: list[Term], counts: Plan
) -> None:
    assert effective_plan(own, trial, organizations, now=NOW) is counts


LEFT = "update memberships set active = false"
ON_TRIAL = "update users set trial_plan = 'PRO', trial_until = now()"


CHANGES = [
    ("select 1", BUSINESS),
    (LEFT, FREE),
    ("update organizations set plan_until = now() - interval '1 hour'", FREE),
    ("update organizations set plan_until = now() + interval '1 hour'", BUSINESS),
    ("update organizations set plan = 'PRO'", PRO),
    ("delete from memberships", FREE),
    ("update users set plan = 'PRO', plan_until = now() + interval '1 hour'", BUSINESS),
    (f"{LEFT}; update users set plan = 'PRO'", PRO),
    (f"{LEFT}; {ON_TRIAL} + interval '1 hour'", PRO),
    (f"{LEFT}; {ON_TRIAL} - interval '1 hour'", FREE),
]


async def test_the_database_brings_every_plan_that_may_count(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, FREE)
        organization = await add_organization(work, name="Org", slug="org", plan=BUSINESS)
        await add_organization_member(work, organization, user)
        for change, counts in CHANGES:
            await work.db.execute("savepoint before")
            await work.db.execute(change)
            assert (await accounts.get_user(work, user.id)).effective_plan is counts, change
            await work.db.execute("rollback to before")
