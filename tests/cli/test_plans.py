"""Plans by command: what the operator gives an organization, and takes back."""

from typing import Any


def test_an_organizations_plan_is_given_and_taken_back(cli: Any) -> None:
    cli("organization", "add", "Studio", "--slug", "studio")
    given = cli("organization", "plan", "studio", "BUSINESS", "--json")
    assert given["plan"] == "BUSINESS"
    assert cli("organization", "clear-plan", "studio", "--json")["plan"] == "FREE"
    assert cli("organization", "clear-plan", "studio", "--json")["plan"] == "FREE"
