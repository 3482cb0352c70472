"""Rules that every route keeps, those of tomorrow too."""

import pytest

from openslot.accounts.usernames import RESERVED
from tests.http.routes import JSON_API, OPERATIONS, REST, Operation

# The one operation whose success is not 200.
CREATED = {"POST /api/v1/contacts"}


@pytest.mark.parametrize("operation", JSON_API, ids=str)
def test_success_is_200_everywhere_but_where_a_contact_is_made(operation: Operation) -> None:
    assert operation.handler.declaration.status == (201 if str(operation) in CREATED else 200)


@pytest.mark.parametrize("operation", REST, ids=str)
def test_a_path_takes_no_method_that_safe_retries_do_not_know(operation: Operation) -> None:
    assert operation.method in {"GET", "POST", "PATCH", "DELETE"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_reads_have_no_transaction_and_only_passwords_are_checked_without_one(operation: Operation) -> None:
    without = operation.handler.declaration.transaction == "none"

    assert without == (operation.method == "GET" or operation.path in {"/login", "/account/password", "/setup"})


def test_no_username_can_hide_a_path_of_ours() -> None:
    first_words = {one.path.strip("/").partition("/")[0] for one in OPERATIONS} - {""}

    assert {word for word in first_words if not word.startswith("{")} <= RESERVED
