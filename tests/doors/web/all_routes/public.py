"""Pages that show less than the others: those that need no session, and those that a walk can't come to."""

# Who asks for these has a link, or may be anybody; everything else asks to sign in.
PUBLIC = {
    "the booking pages of a host or a team, which everyone may see": (
        "/{username}",
        "/{username}/{slug}",
        "/{username}/{slug}/qr",
        "/{username}/{slug}/qr.svg",
        "/{username}/{slug}/wait-list",
        "/team/{team}",
        "/team/{team}/{slug}",
        "/team/{team}/{slug}/qr",
        "/team/{team}/{slug}/qr.svg",
        "/widget-demo",
        "/widget.js",
    ),
    "links whose token is the right to use them": (
        "/feed/{token}",
        "/invite/{token}",
        "/manage/{token}",
        "/manage/{token}/calendar.ics",
        "/manage/{token}/cancel",
        "/manage/{token}/reschedule",
        "/password/reset/{token}",
        "/photos/agents/{token}",
        "/setup",
        "/unsubscribe/{token}",
        "/verify/{token}",
        "/wait-list/{token}",
    ),
    "the way to a session": (
        "/login",
        "/login/oidc",
        "/login/oidc/callback",
        "/password/forgot",
        "/signup",
    ),
    "files and lists that are the same for everyone": (
        "/.well-known/api-catalog",
        "/favicon.ico",
        "/help/save-bar",
        "/help/zones",
        "/llms.txt",
        "/photos/{name}",
        "/robots.txt",
        "/static/{path:path}",
    ),
}
# What the signed-in owner of everything is answered instead of a page, and why.
ELSEWHERE = {
    "GET /account/keys": 303,  # A part of another page.
    "GET /account/plan": 404,  # No plan is sold here.
    "GET /account/plan/billing": 404,
    "GET /account/plan/return": 303,
    "GET /organization/plan": 404,
    "GET /organization/plan/billing": 404,
    "GET /organization/plan/return": 303,
    "GET /connect/{vendor}/callback": 404,  # No calendar service is set up, and no provider of accounts.
    "GET /login/oidc": 303,
    "GET /login/oidc/callback": 404,
    "GET /settings/security/provider/disconnect": 404,
    "GET /login": 303,  # These are for who is not signed in.
    "GET /login/two-factor": 303,
    "GET /signup": 303,
    "GET /setup": 403,  # There is an account.
    "GET /settings/security/two-factor": 303,  # It is on.
    "GET /welcome": 303,  # It leads to a step.
    "GET /widget-demo": 404,  # There is no demo.
    "GET /{username}/{slug}/wait-list": 303,  # There are free times.
}
# These ask a provider, for whom the furnished account has a secret that opens nothing.
AT_A_PROVIDER = frozenset(
    (
        "GET /calls/{call_id}/recording",
        "GET /conversations/{conversation_id}/messages/{message_id}/files/{position}",
        "GET /settings/crm/{connection_id}/fields",
        "POST /settings/calendars/{connection_id}/password",
        "POST /settings/crm/{connection_id}/fields",
    )
)
