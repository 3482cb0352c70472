"""Where a host can go: the pages in the navigation, the palette's list of pages and actions, and the shortcuts."""

from msgspec import Struct

from openslot.i18n import Text


class NavigationItem(Struct, frozen=True, kw_only=True):
    """A page, or a form that begins an action."""

    path: str
    name: Text
    keys: str = ""
    """What to press to go there, one after the other."""
    in_navigation: bool = False


class Shortcut(Struct, frozen=True, kw_only=True):
    """What a key does everywhere."""

    keys: tuple[str, ...]
    name: Text


PLACES = (
    NavigationItem(path="/", name=Text("Home"), keys="g h", in_navigation=True),
    NavigationItem(path="/bookings", name=Text("Bookings"), keys="g b", in_navigation=True),
    NavigationItem(path="/bookings/new", name=Text("New booking"), keys="g n"),
    NavigationItem(path="/bookings?view=past", name=Text("Past bookings")),
    NavigationItem(path="/bookings?view=cancelled", name=Text("Cancelled bookings")),
    NavigationItem(path="/bookings/export.csv", name=Text("Download upcoming bookings as CSV")),
    NavigationItem(path="/account", name=Text("Account"), keys="g a", in_navigation=True),
    NavigationItem(path="/account#keys", name=Text("API keys")),
    NavigationItem(path="/account#password-title", name=Text("Change password")),
    NavigationItem(path="/api/docs", name=Text("API documentation"), in_navigation=True),
    NavigationItem(path="/help", name=Text("Keyboard shortcuts")),
)
SHORTCUTS = (
    Shortcut(keys=(Text("Ctrl"), "K"), name=Text("Find a page or an action")),
    Shortcut(keys=("/",), name=Text("Search bookings")),
    Shortcut(keys=("?",), name=Text("Show these shortcuts")),
)
