"""Rules that every route keeps, those of tomorrow too."""

import ast
import inspect

import pytest

from openslot.domains.accounts.models import RESERVED
from tests.doors.http.routes import JSON_API, OPERATIONS, PUBLIC, REST, Operation

# The operations whose success is not 200.
OTHER = {
    "POST /api/v1/contacts": 201,
    "POST /api/scim/v2/Users": 201,
    "DELETE /api/scim/v2/Users/{user_id}": 204,
    "POST /api/scim/v2/Groups": 201,
    "DELETE /api/scim/v2/Groups/{group_id}": 204,
}
# Those that check or hash a password, reads that are sent as a body, forms whose limit is counted by their handler,
# retries of effects, which open one for each, previews, which save nothing, replies, which another service sends,
# look-ups in the DNS, and tools, each of which says what it needs.
WITHOUT = {
    *(f"/bookings/selected/{act}" for act in ("cancel", "cancel/confirm", "export.csv", "no-show")),
    "/login",
    "/password/forgot",
    "/password/reset/{token}",
    "/signup",
    "/verify/{token}",
    "/login/two-factor",
    "/settings/security/two-factor",
    "/settings/security/two-factor/confirm",
    "/settings/security/two-factor/off",
    "/settings/security/recovery-codes",
    "/settings/security/provider",
    "/account/email",
    "/account/email/{token}",
    "/account/password",
    "/account/plan/checkout",
    "/manage/{token}/give-up",
    "/api/public/manage/{token}/cancel",
    "/organization/plan/checkout",
    "/mcp",
    "/oauth/authorize",
    "/oauth/token",
    "/setup",
    "/invite/{token}",
    "/api/scim/v2/.search",
    "/api/scim/v2/Users/.search",
    "/api/scim/v2/Groups/.search",
    "/{username}/{slug}",
    "/team/{team}/{slug}",
    "/manage/{token}/reschedule",
    "/manage/{token}/cancel",
    "/manage/{token}/messages",
    "/manage/{token}/withdraw",
    "/wait-list/{token}",
    "/wait-list/{token}/confirm",
    "/wait-list/{token}/decline",
    "/wait-list/{token}/leave",
    "/{username}/{slug}/wait-list",
    "/bookings/{booking_id}/retry/{effect_id}",
    "/home/retry/{effect_id}",
    "/organization/domains/{domain}/check",
    "/settings/branding/cover",
    "/settings/branding/logo",
    "/settings/profile/photo",
    "/event-types/new/preview",
    "/event-types/{event_type_id}/preview",
    "/event-types/{event_type_id}/questions/preview",
    "/welcome/calendar",
    "/welcome/calendar/feed",
    "/admin/audit/verify",
    "/admin/jobs/effects/{effect_id}/retry",
    "/admin/jobs/effects/retry",
    "/admin/system/backups",
    "/api/admin/agent-mcp",
    "/mcp/public",
    # These ask Stripe, or are asked by it before anything is known of them.
    "/api/notices/stripe/{connection_id}",
    "/api/notices/gateway/{connection_id}",
    "/api/notices/twilio/{connection_id}/messages",
    "/api/notices/twilio/{connection_id}/status",
    "/api/notices/twilio/{connection_id}/calls",
    "/api/notices/calls/{connection_id}",
    "/api/notices/google/{channel_id}",
    "/api/notices/microsoft/{channel_id}",
    "/settings/payments",
    "/settings/payments/disconnect",
    "/organization/payments",
    "/organization/payments/disconnect",
    # These ask the provider of a number.
    "/settings/messages",
    "/settings/messages/{connection_id}/token",
    "/settings/messages/{connection_id}/test",
    "/organization/messages",
    "/organization/messages/{connection_id}/token",
    "/organization/messages/{connection_id}/test",
    # These ask a CRM.
    "/settings/crm/connect/{vendor}",
    "/settings/crm/{connection_id}/test",
    "/settings/crm/{connection_id}/fields",
    # These ask a calendar's server.
    "/settings/calendars/connect",
    "/settings/webhooks/{endpoint_id}/test",
    "/settings/webhooks/{endpoint_id}/deliveries/{delivery_id}/resend",
    "/settings/calendars/connect/feed",
    "/settings/calendars/{connection_id}/test",
    "/settings/calendars/{connection_id}/password",
    "/settings/calendars/{connection_id}/disconnect",
    "/settings/data/delete",
    "/settings/data/delete/link",
    # These check a password.
    "/organization/delete",
    "/admin/organizations/{slug}/delete",
}


@pytest.mark.parametrize("operation", JSON_API, ids=str)
def test_success_is_200_everywhere_but_where_something_is_made_or_gone(operation: Operation) -> None:
    assert operation.handler.declaration.status == OTHER.get(str(operation), 200)


@pytest.mark.parametrize("operation", REST, ids=str)
def test_a_path_takes_no_method_that_safe_retries_do_not_know(operation: Operation) -> None:
    assert operation.method in {"GET", "POST", "PATCH", "DELETE"}


@pytest.mark.parametrize("operation", [*REST, *PUBLIC], ids=str)
def test_a_handler_has_at_most_15_lines_after_its_docstring(operation: Operation) -> None:
    (function,) = ast.parse(inspect.getsource(operation.handler.run)).body
    assert isinstance(function, ast.AsyncFunctionDef)
    docstring, *_, last = function.body

    assert (last.end_lineno or 0) - (docstring.end_lineno or 0) <= 15


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_reads_have_no_transaction_and_few_writes_open_their_own(operation: Operation) -> None:
    without = operation.handler.declaration.transaction == "none"

    assert without == (operation.method == "GET" or operation.path in WITHOUT)


def test_no_username_can_hide_a_path_of_ours() -> None:
    first_words = {one.path.strip("/").partition("/")[0] for one in OPERATIONS} - {""}

    assert {word for word in first_words if not word.startswith("{")} <= RESERVED
