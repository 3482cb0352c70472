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
    ADMINISTRATION = "administration"
    """Below a heading of its own, for administrators of the platform."""
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
    NavigationItem(path="/bookings/new", name=Text("New booking"), keys="g n"),
    NavigationItem(path="/bookings?view=past", name=Text("Past bookings")),
    NavigationItem(path="/bookings?view=cancelled", name=Text("Cancelled bookings")),
    NavigationItem(path="/bookings/export.csv", name=Text("Download upcoming bookings as CSV")),
    NavigationItem(path="/account", name=Text("Account"), keys="g a", group=NavigationGroup.SETTINGS),
    NavigationItem(path="/account#keys", name=Text("API keys")),
    NavigationItem(path="/account#password-title", name=Text("Change password")),
    NavigationItem(path="/api/docs", name=Text("API documentation"), group=NavigationGroup.MAIN),
    NavigationItem(path="/help", name=Text("Keyboard shortcuts")),
    NavigationItem(path="/admin/analytics", name=Text("Analytics"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/users", name=Text("Users"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/organizations", name=Text("Organizations"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/agents", name=Text("Agents"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/approvals", name=Text("Approvals"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/audit", name=Text("Tool audit"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/flags", name=Text("Feature flags"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/jobs", name=Text("Jobs"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/mailbox", name=Text("Mailbox"), group=NavigationGroup.ADMINISTRATION),
    NavigationItem(path="/admin/system", name=Text("System"), group=NavigationGroup.ADMINISTRATION),
)
SHORTCUTS = (
    Shortcut(keys=(Text("Ctrl"), "K"), name=Text("Find a page or an action")),
    Shortcut(keys=("/",), name=Text("Search bookings")),
    Shortcut(keys=("?",), name=Text("Show these shortcuts")),
)
