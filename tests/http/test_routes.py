"""Rules that every route keeps, those of tomorrow too."""

import pytest
from litestar.params import QueryParameter

from openslot.accounts.usernames import RESERVED
from tests.http.routes import JSON_API, OPERATIONS, REST, Operation

# The one operation whose success is not 200; the framework's own default for POST is 201, for DELETE 204.
CREATED = {"POST /api/v1/contacts"}
# What the app gives to a handler.
GIVEN = {"work", "user", "address", "request", "state", "data"}


@pytest.mark.parametrize("operation", JSON_API, ids=str)
def test_success_is_200_everywhere_but_where_a_contact_is_made(operation: Operation) -> None:
    assert operation.handler.status_code == (201 if str(operation) in CREATED else 200)


@pytest.mark.parametrize("operation", REST, ids=str)
def test_a_path_takes_no_method_that_safe_retries_do_not_know(operation: Operation) -> None:
    assert operation.method in {"GET", "POST", "PATCH", "DELETE"}


@pytest.mark.parametrize("operation", JSON_API, ids=str)
def test_every_parameter_that_is_no_part_of_the_path_is_checked_as_a_query(operation: Operation) -> None:
    fields = operation.handler.parsed_fn_signature.parameters
    in_path = {name for name in fields if f"{{{name}}}" in operation.path}
    others = {name: field for name, field in fields.items() if name not in in_path | GIVEN}

    assert all(isinstance(field.kwarg_definition, QueryParameter) for field in others.values())


def test_no_username_can_hide_a_path_of_ours() -> None:
    first_words = {one.path.strip("/").partition("/")[0] for one in OPERATIONS} - {""}

    assert {word for word in first_words if not word.startswith("{")} <= RESERVED
