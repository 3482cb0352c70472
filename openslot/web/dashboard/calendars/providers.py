"""Calendar providers that a host can choose by name, and what each needs."""

from msgspec import Struct

from openslot.i18n import Text
from openslot.routing import RateLimit

# Each try sends a password to somebody's server, and nobody is to guess passwords through this one.
TRIES = RateLimit("calendars", 30)


class CalendarProvider(Struct, frozen=True, kw_only=True):
    """A provider, its server, and what to know before connecting."""

    key: str
    name: str
    address: str | None
    """None: each installation has its own, so it is asked for."""
    hint: Text


PROVIDERS = {
    provider.key: provider
    for provider in (
        CalendarProvider(
            key="icloud",
            name="iCloud",
            address="https://caldav.icloud.com",
            hint=Text(
                "Your user name is the email address of your Apple Account. Create an app-specific password at "
                "account.apple.com, under Sign-In and Security."
            ),
        ),
        CalendarProvider(
            key="fastmail",
            name="Fastmail",
            address="https://caldav.fastmail.com",
            hint=Text(
                "Your user name is your Fastmail address. Create an app password with access to calendars in "
                "Settings, Privacy & Security."
            ),
        ),
        CalendarProvider(
            key="nextcloud",
            name="Nextcloud",
            address=None,
            hint=Text(
                "The address is that of your Nextcloud, such as https://cloud.example.com. Create an app password in "
                "Settings, Security, Devices & sessions."
            ),
        ),
        CalendarProvider(
            key="other",
            name=Text("Another CalDAV server"),
            address=None,
            hint=Text("The address can be a URL, the name of the server, or your email address there."),
        ),
    )
}
