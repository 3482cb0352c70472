"""Where a user can go: the pages in the navigation, the palette's list of pages and actions, and the shortcuts."""

from enum import StrEnum

from msgspec import Struct

from openslot.i18n import Text


class NavigationGroup(StrEnum):
    """Pages that are listed together."""

    MAIN = "main"
    """In the navigation of every page."""
    SETTINGS = "settings"
    """In the tabs of the settings, which the navigation shows as one item."""
    PALETTE = "palette"
    """Only in the palette."""


class NavigationItem(Struct, frozen=True, kw_only=True):
    """A page, or a form that begins an action."""

    path: str
    name: Text
    keys: str = ""
    """What to press to go there, one after the other."""
    group: NavigationGroup = NavigationGroup.PALETTE


class Shortcut(Struct, frozen=True, kw_only=True):
    """What a key does everywhere."""

    keys: tuple[str, ...]
    name: Text


PLACES = (
    NavigationItem(path="/", name=Text("Home"), keys="g h", group=NavigationGroup.MAIN),
    NavigationItem(path="/bookings", name=Text("Bookings"), keys="g b", group=NavigationGroup.MAIN),
    NavigationItem(path="/availability", name=Text("Availability"), keys="g v", group=NavigationGroup.MAIN),
    NavigationItem(path="/availability/away", name=Text("Out of office")),
    NavigationItem(path="/availability/why", name=Text("Why is a time not offered?")),
    NavigationItem(path="/welcome", name=Text("First steps")),
    NavigationItem(path="/bookings/new", name=Text("New booking"), keys="g n"),
    NavigationItem(path="/bookings?view=past", name=Text("Past bookings")),
    NavigationItem(path="/bookings?view=cancelled", name=Text("Cancelled bookings")),
    NavigationItem(path="/bookings/export.csv", name=Text("Download upcoming bookings as CSV")),
    NavigationItem(path="/event-types", name=Text("Event types"), keys="g e", group=NavigationGroup.MAIN),
    NavigationItem(path="/event-types/new", name=Text("New event type")),
    NavigationItem(path="/event-types?view=archived", name=Text("Archived event types")),
    NavigationItem(path="/contacts", name=Text("Contacts"), keys="g c", group=NavigationGroup.MAIN),
    NavigationItem(path="/contacts/new", name=Text("New contact")),
    NavigationItem(path="/contacts/import", name=Text("Import contacts")),
    NavigationItem(path="/conversations", name=Text("Conversations"), keys="g m", group=NavigationGroup.MAIN),
    NavigationItem(path="/calls", name=Text("Calls"), keys="g p", group=NavigationGroup.MAIN),
    NavigationItem(path="/account", name=Text("Account"), keys="g a", group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/sessions", name=Text("Sessions"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/security", name=Text("Security"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/profile", name=Text("Profile"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/notifications", name=Text("Notifications"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/webhooks", name=Text("Webhooks"), keys="g w", group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/webhooks/new", name=Text("Add a webhook endpoint")),
    NavigationItem(path="/account#keys", name=Text("API keys")),
    NavigationItem(path="/account#password-title", name=Text("Change password")),
    NavigationItem(path="/settings/calendars", name=Text("Calendars"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/calendars/connect", name=Text("Connect a calendar")),
    NavigationItem(path="/settings/data", name=Text("Your data"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/data/delete", name=Text("Delete your account")),
    NavigationItem(path="/api/docs", name=Text("API documentation"), group=NavigationGroup.MAIN),
    NavigationItem(path="/help", name=Text("Keyboard shortcuts")),
)
SHORTCUTS = (
    Shortcut(keys=(Text("Ctrl"), "K"), name=Text("Find a page or an action")),
    Shortcut(keys=("/",), name=Text("Search bookings")),
    Shortcut(keys=("?",), name=Text("Show these shortcuts")),
)
