"""Settings: everything that an operator can choose."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from openslot.platform.core.dollars import Dollars, DollarsByName
from openslot.platform.core.smtp import MailFrom, SmtpUrl

Network = IPv4Network | IPv6Network


class Networks(tuple[Network, ...]):
    """Networks as an operator writes them: CIDRs, separated by commas."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "Networks":
        """Read `10.0.0.0/8, fd00::/8`."""
        try:
            return cls(ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())
        except ValueError:
            raise ValueError("it must be networks such as 10.0.0.0/8, separated by commas") from None


PerMinute = Annotated[int, Meta(ge=1, le=1_000_000)]
Allowed = Annotated[int, Meta(ge=1, le=100_000)]
Token = Annotated[str, Meta(min_length=32, max_length=500, pattern=r"^[!-~]+$")]
StripeKey = Annotated[str, Meta(pattern=r"^(sk|rk)_(test|live)_[A-Za-z0-9_]{8,250}$", examples=["rk_live_…"])]
PriceId = Annotated[str, Meta(pattern=r"^price_[A-Za-z0-9_]{1,250}$", examples=["price_1Nv0FG2eZvKY"])]
# What is added to it must fit into a location.
ShortUrl = Annotated[str, Meta(max_length=200)]
Seconds = Annotated[int, Meta(ge=1, le=3600)]
Megabytes = Annotated[int, Meta(ge=16, le=1_000_000)]

ENVIRONMENT_NAMES = {"database_url": "DATABASE_URL"}

# Settings whose values are shown to nobody, and that a file can hold: `OPENSLOT_SMTP_URL_FILE` names it.
SECRET = frozenset(
    {
        "database_url",
        "direct_database_url",
        "read_database_url",
        "secret_key",
        "smtp_url",
        "chat_webhook",
        "images_key",
        "api_key",
        "metrics_token",
        "stripe_key",
        "oidc_client_secret",
        "google_client_secret",
        "microsoft_client_secret",
    }
)


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything an operator can choose; each field's description is its documentation."""

    database_url: Annotated[
        str | None, Meta(description="URL of a PostgreSQL 15 or newer; the embedded one if not set")
    ] = None
    direct_database_url: Annotated[
        str | None, Meta(description="Direct database URL, bypassing the pooler; for workers and migrations")
    ] = None
    read_database_url: Annotated[
        str | None, Meta(description="URL of a standby from which free times are read; they may be 12 seconds old")
    ] = None
    database_pooler: Annotated[
        bool, Meta(description="`DATABASE_URL` is a transaction pooler that keeps no prepared statements")
    ] = False
    database_connections: Annotated[
        int, Meta(ge=2, le=500, description="Maximum number of connections per process")
    ] = 10
    database_cache_mb: Annotated[
        Megabytes | None,
        Meta(description="Cache of the embedded database, in MB; if not set, an eighth of all memory, 64 to 96"),
    ] = None
    database_wait_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=300,
            description="Seconds that a request waits for a free connection, and for a lock, before it is answered 503",
        ),
    ] = 5
    database_statement_seconds: Annotated[
        int,
        Meta(ge=1, le=3600, description="Seconds that one statement of a request may take before it is answered 503"),
    ] = 10
    data_dir: Annotated[Path, Meta(description="Directory of the embedded database, the secret key and backups")] = (
        Path("data")
    )
    host: Annotated[str, Meta(description="Address to listen on")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="Port to listen on; 0 for any free one")] = 8000
    base_url: Annotated[str | None, Meta(description="Public URL; defaults to host and port")] = None
    secret_key: Annotated[
        str | None,
        Meta(description="Encrypts stored secrets; comma-separated, newest first; generated if not set"),
    ] = None
    trusted_proxies: Annotated[
        Networks, Meta(description="Networks whose `X-Forwarded-For` is trusted, comma-separated")
    ] = Networks()
    hsts_subdomains: Annotated[
        bool, Meta(description="Browsers must use https for all subdomains of the public host name, too")
    ] = False
    outbound_allow: Annotated[
        Networks, Meta(description="Private networks that outgoing requests may reach, comma-separated")
    ] = Networks()
    smtp_url: Annotated[
        SmtpUrl | None,
        Meta(description="SMTP server, such as `smtp://USER:PASSWORD@HOST:587`; the embedded mailbox if not set"),
    ] = None
    mail_from: Annotated[
        MailFrom | None,
        Meta(
            description="Sender of emails, such as `Openslot <bookings@example.com>`; required with `OPENSLOT_SMTP_URL`"
        ),
    ] = None
    postal_address: Annotated[
        str | None,
        Meta(
            description="Operator's postal address, shown at the end of every email; "
            "required for agents' marketing email"
        ),
    ] = None
    limit_mail_recipient: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Emails to one address in 24 hours triggered by the public")
    ] = 30
    limit_mail_host: Annotated[
        int,
        Meta(
            ge=1, le=1_000_000, description="Emails for one host in 24 hours triggered by the public, divided by kind"
        ),
    ] = 1000
    allowance_mail: Annotated[
        Allowed,
        Meta(
            description="Emails in 24 hours that a new account can send to people who have never booked, confirmed or "
            "answered; older accounts have more"
        ),
    ] = 20
    allowance_message: Annotated[
        Allowed, Meta(description="Messages in an hour to numbers that have never answered, caused by one network")
    ] = 2
    allowance_time: Annotated[
        Allowed, Meta(description="Times in 24 hours that one network can take without confirming them")
    ] = 20
    allowance_wait_list: Annotated[Allowed, Meta(description="Entries of wait lists in 24 hours from one network")] = 20
    allowance_provider_read: Annotated[
        Allowed, Meta(description="How often in 5 seconds a payment provider is asked about one payment")
    ] = 1
    allowance_code: Annotated[Allowed, Meta(description="Codes by email in an hour that one network can ask for")] = 20
    limit_messages: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="SMS and WhatsApp messages that one host sends in 24 hours, half of them by hand",
        ),
    ] = 200
    limit_messages_number: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Messages from one connected number in 24 hours that nobody has written by hand",
        ),
    ] = 1000
    limit_messages_recipient: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Messages to one number in 24 hours that nobody has written by hand")
    ] = 10
    keep_mail_days: Annotated[int, Meta(ge=1, le=36_500, description="Days that emails and the email log are kept")] = (
        90
    )
    confirm_within_hours: Annotated[
        int,
        Meta(
            ge=1,
            le=720,
            description="Hours that hosts have to confirm a booking that waits for them; at its start it lapses anyway",
        ),
    ] = 48
    sign_up: Annotated[
        Literal["open", "invitation"],
        Meta(description="Who can sign up: `open` for anyone, `invitation` for invited people only"),
    ] = "invitation"
    limit_key: Annotated[PerMinute, Meta(description="Requests per minute for one API key")] = 60
    limit_public: Annotated[PerMinute, Meta(description="Public bookings per minute from one address")] = 10
    hold_share: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="Percent of a host's open times on one day that can be held, unpaid or requested at once",
        ),
    ] = 25
    limit_failed_auth: Annotated[
        PerMinute,
        Meta(
            description="Failed authentications per minute from one address, including wrong passwords from unknown "
            "devices; also for the forms to sign up and to choose a new password"
        ),
    ] = 5
    limit_scim: Annotated[PerMinute, Meta(description="Requests per minute for one SCIM token")] = 600
    limit_agent: Annotated[PerMinute, Meta(description="Requests per minute for one agent key")] = 120
    limit_assistant: Annotated[PerMinute, Meta(description="Requests per minute for one connected assistant")] = 60
    assistant_registration: Annotated[
        bool,
        Meta(
            description="Let assistants that have no client metadata document register themselves, as older ones must"
        ),
    ] = True
    api_key: Annotated[
        str | None,
        Meta(description="API key of the user for whom `openslot mcp` runs, a secret; no other command reads it"),
    ] = None
    agent_budget: Annotated[Dollars, Meta(description="US dollars that an agent may spend per UTC day")] = Dollars(
        5_000_000
    )
    agent_budgets: Annotated[
        DollarsByName,
        Meta(description="The same for agents by name, comma-separated, such as `support=0.20, growth=1.50`"),
    ] = DollarsByName((("support", Dollars(200_000)),))
    agent_budget_global: Annotated[
        Dollars, Meta(description="US dollars that all agents together may spend per UTC day")
    ] = Dollars(50_000_000)
    agent_email_cost: Annotated[Dollars, Meta(description="Price of an agent's email, in US dollars")] = Dollars(1_000)
    agent_image_cost: Annotated[Dollars, Meta(description="Price of an agent's image, in US dollars")] = Dollars(40_000)
    agent_approval_by_person: Annotated[
        bool, Meta(description="Only a person may approve agents' calls of tier T3; the Orchestrator may only reject")
    ] = False
    codebase_root: Annotated[
        Path | None,
        Meta(description="Git repository whose source code agents may read; Openslot's own source code if not set"),
    ] = None
    chat_webhook: Annotated[
        str | None,
        Meta(
            description="Incoming webhook of the team chat (Slack, Mattermost), a secret; if not set, nothing is posted"
        ),
    ] = None
    images_url: Annotated[
        str | None,
        Meta(description="Images endpoint for agents, compatible with OpenAI's, such as `https://api.openai.com/v1`"),
    ] = None
    images_key: Annotated[str | None, Meta(description="Key of the images endpoint, a secret")] = None
    images_model: Annotated[
        str | None, Meta(description="Model that makes images, such as `gpt-image-1`; see `OPENSLOT_AGENT_IMAGE_COST`")
    ] = None
    keep_image_days: Annotated[
        int, Meta(ge=1, le=365, description="Days that images of agents are kept, and that their addresses work")
    ] = 7
    twilio_url: Annotated[
        str, Meta(description="Twilio's API, or a proxy that stands in for it; SMS and WhatsApp messages go there")
    ] = "https://api.twilio.com"
    jitsi_url: Annotated[
        ShortUrl | None,
        Meta(description="Jitsi server, such as `https://meet.example.com`; with it hosts offer video calls there"),
    ] = None
    stripe_url: Annotated[
        str, Meta(description="Stripe's API, or a proxy that stands in for it; payments of hosts go there")
    ] = "https://api.stripe.com"
    stripe_key: Annotated[
        StripeKey | None,
        Meta(
            description="Key of your own Stripe account, a secret; with it users and organizations subscribe to plans"
        ),
    ] = None
    stripe_price_pro: Annotated[
        PriceId | None, Meta(description="Stripe's price of the plan Pro, such as `price_1Abc…`")
    ] = None
    stripe_price_business: Annotated[PriceId | None, Meta(description="Stripe's price of the plan Business")] = None
    plan_grace_days: Annotated[
        int,
        Meta(ge=0, le=90, description="Days that a plan outlives a payment that fails"),
    ] = 7
    oidc_issuer: Annotated[
        str | None,
        Meta(description="OpenID Connect provider for sign-in, such as `https://example.okta.com`"),
    ] = None
    oidc_client_id: Annotated[str | None, Meta(description="Client ID; required with `OPENSLOT_OIDC_ISSUER`")] = None
    oidc_client_secret: Annotated[
        str | None, Meta(description="Client secret; required with `OPENSLOT_OIDC_ISSUER`")
    ] = None
    oidc_name: Annotated[str, Meta(max_length=40, description="Name on the sign-in button: “Continue with Okta”")] = (
        "SSO"
    )
    oidc_creates_accounts: Annotated[
        bool, Meta(description="Create an account for people who sign in through the provider and have none")
    ] = False
    oidc_skips_two_factor: Annotated[
        bool, Meta(description="Skip the second factor for people who sign in through the provider")
    ] = False
    google_client_id: Annotated[
        str | None, Meta(description="Client ID of your project at Google; with it hosts connect Google Calendar")
    ] = None
    google_client_secret: Annotated[
        str | None, Meta(description="Client secret; required with `OPENSLOT_GOOGLE_CLIENT_ID`")
    ] = None
    google_auth_url: Annotated[
        str, Meta(description="Google's page on which people allow access, or one that stands in for it")
    ] = "https://accounts.google.com/o/oauth2/v2/auth"
    google_token_url: Annotated[
        str, Meta(description="Where Google gives tokens, or a proxy that stands in for it")
    ] = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
    google_api_url: Annotated[str, Meta(description="Google's Calendar API, or a proxy that stands in for it")] = (
        "https://www.googleapis.com/calendar/v3"
    )
    microsoft_client_id: Annotated[
        str | None,
        Meta(description="Application (client) ID at Microsoft Entra; with it hosts connect Microsoft 365"),
    ] = None
    microsoft_client_secret: Annotated[
        str | None, Meta(description="Client secret; required with `OPENSLOT_MICROSOFT_CLIENT_ID`")
    ] = None
    microsoft_tenant: Annotated[
        str,
        Meta(
            pattern=r"^[0-9A-Za-z][0-9A-Za-z.-]{0,250}$",
            description="Whose accounts may connect: `common`, `organizations`, `consumers`, or the ID of one tenant",
        ),
    ] = "common"
    microsoft_login_url: Annotated[
        str, Meta(description="Where Microsoft asks people and gives tokens, or a proxy that stands in for it")
    ] = "https://login.microsoftonline.com"
    microsoft_graph_url: Annotated[str, Meta(description="Microsoft Graph, or a proxy that stands in for it")] = (
        "https://graph.microsoft.com/v1.0"
    )
    hubspot_url: Annotated[str, Meta(description="HubSpot's API, or a proxy that stands in for it")] = (
        "https://api.hubapi.com"
    )
    limit_connections: Annotated[
        int, Meta(ge=1, le=65_536, description="Open connections from one address to one web process")
    ] = 256
    head_timeout: Annotated[Seconds, Meta(description="Seconds that a request's head may take to arrive")] = 10
    body_timeout: Annotated[
        Seconds,
        Meta(description="Seconds that a request's body may take to arrive, plus one for each 4 KiB received"),
    ] = 30
    metrics_token: Annotated[
        Token | None,
        Meta(description="Bearer token for `/metrics`, at least 32 characters; local access only if not set"),
    ] = None
    hang_timeout: Annotated[
        Seconds,
        Meta(description="Seconds without a heartbeat after which `serve` replaces a web process or a worker"),
    ] = 15
    worker_concurrency: Annotated[
        int,
        Meta(
            ge=2,
            le=500,
            description="Effects that one worker runs at a time; at most half of them wait for targets that are slow, "
            "failing or new",
        ),
    ] = 100
    keep_events_days: Annotated[
        int, Meta(ge=30, le=36_500, description="Days that events, their effects and the feed are kept; at least 30")
    ] = 90
    keep_changes_days: Annotated[
        int, Meta(ge=30, le=36_500, description="Days that the log of administrators' changes is kept; at least 30")
    ] = 730
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="Minimum level that is logged: `debug`, `info`, `warning` or `error`"),
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="`json`, `console`, or `auto`: `console` on a terminal, JSON elsewhere"),
    ] = "auto"

    @property
    def public_url(self) -> str:
        """The beginning of links in mail and responses, without a trailing slash."""
        if self.base_url is not None:
            return self.base_url.rstrip("/")
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def environment_name(field: str) -> str:
    return ENVIRONMENT_NAMES.get(field, f"OPENSLOT_{field.upper()}")


def file_variable(field: str) -> str:
    """Name the variable that says which file holds a secret setting."""
    return f"{environment_name(field)}_FILE"
