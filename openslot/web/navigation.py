"""Where a user can go: the pages in the navigation, the palette's list of pages and actions, and the shortcuts."""

from enum import StrEnum

from msgspec import Struct

from openslot.access.models import Entry
from openslot.accounts.members import is_administrator
from openslot.accounts.models import User
from openslot.accounts.plans import PLANS_WITH_ORGANIZATIONS
from openslot.i18n import Text


class NavigationGroup(StrEnum):
    MAIN = "main"
    """In the navigation of every page."""
    SETTINGS = "settings"
    """In the tabs of the settings, which the navigation shows as one item."""
    ADMINISTRATION = "administration"
    """In the navigation, below the heading “Administration”."""
    ORGANIZATION = "organization"
    """In the navigation, below the heading “Organization”."""
    PALETTE = "palette"
    """Only in the palette."""


class NavigationAudience(StrEnum):
    EVERYONE = "everyone"
    ADMINISTRATORS = "administrators"
    """Owners and administrators of an organization."""
    MEMBERS = "members"
    """Those who belong to an organization and look after none."""
    FOUNDERS = "founders"
    """Those who belong to none and may create one."""
    PLATFORM = "platform"
    """Administrators of the platform."""


class NavigationItem(Struct, frozen=True, kw_only=True):
    """A page, or a form that begins an action."""

    path: str
    name: Text
    label: Text | None = None
    """A shorter name for the navigation, where the heading of the group says the rest."""
    keys: str = ""
    """What to press to go there, one after the other."""
    group: NavigationGroup = NavigationGroup.PALETTE
    audience: NavigationAudience = NavigationAudience.EVERYONE


class Shortcut(Struct, frozen=True, kw_only=True):
    keys: tuple[str, ...]
    name: Text


PLACES = (
    NavigationItem(path="/", name=Text("Home"), keys="g h", group=NavigationGroup.MAIN),
    NavigationItem(path="/bookings", name=Text("Bookings"), keys="g b", group=NavigationGroup.MAIN),
    NavigationItem(path="/bookings/new", name=Text("New booking"), keys="g n"),
    NavigationItem(path="/bookings?view=past", name=Text("Past bookings")),
    NavigationItem(path="/bookings?view=cancelled", name=Text("Cancelled bookings")),
    NavigationItem(path="/bookings/export.csv", name=Text("Download upcoming bookings as CSV")),
    NavigationItem(path="/event-types", name=Text("Event types"), keys="g e", group=NavigationGroup.MAIN),
    NavigationItem(path="/event-types/new", name=Text("New event type")),
    NavigationItem(path="/event-types?view=archived", name=Text("Archived event types")),
    NavigationItem(path="/availability", name=Text("Availability"), keys="g v", group=NavigationGroup.MAIN),
    NavigationItem(path="/availability/away", name=Text("Out of office")),
    NavigationItem(path="/availability/why", name=Text("Why is a time not offered?")),
    NavigationItem(path="/contacts", name=Text("Contacts"), keys="g c", group=NavigationGroup.MAIN),
    NavigationItem(path="/contacts/new", name=Text("New contact")),
    NavigationItem(path="/contacts/import", name=Text("Import contacts")),
    NavigationItem(path="/conversations", name=Text("Conversations"), keys="g m", group=NavigationGroup.MAIN),
    NavigationItem(path="/calls", name=Text("Calls"), keys="g p", group=NavigationGroup.MAIN),
    NavigationItem(path="/welcome", name=Text("First steps")),
    NavigationItem(path="/account", name=Text("Account"), keys="g a", group=NavigationGroup.SETTINGS),
    NavigationItem(path="/account#keys", name=Text("API keys")),
    NavigationItem(path="/account/email", name=Text("Change your email address")),
    NavigationItem(path="/account#password-title", name=Text("Change password")),
    NavigationItem(path="/settings/profile", name=Text("Profile"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/notifications", name=Text("Notifications"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/calendars", name=Text("Calendars"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/calendars/connect", name=Text("Connect a calendar")),
    NavigationItem(path="/settings/webhooks", name=Text("Webhooks"), keys="g w", group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/webhooks/new", name=Text("Add a webhook endpoint")),
    NavigationItem(path="/settings/security", name=Text("Security"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/sessions", name=Text("Sessions"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/data", name=Text("Your data"), group=NavigationGroup.SETTINGS),
    NavigationItem(path="/settings/data/delete", name=Text("Delete your account")),
    NavigationItem(path="/api/docs", name=Text("API documentation"), group=NavigationGroup.MAIN),
    *(
        NavigationItem(
            path=path,
            name=name,
            label=label,
            group=NavigationGroup.ORGANIZATION,
            audience=NavigationAudience.ADMINISTRATORS,
        )
        for path, name, label in (
            ("/organization/members", Text("Members"), None),
            ("/organization/provisioning", Text("Provisioning"), None),
            ("/organization/domains", Text("Domains"), None),
            ("/organization/settings", Text("Organization settings"), Text("Settings")),
            ("/organization/log", Text("Change log"), None),
        )
    ),
    NavigationItem(
        path="/organization",
        name=Text("About your organization"),
        group=NavigationGroup.ORGANIZATION,
        audience=NavigationAudience.MEMBERS,
    ),
    NavigationItem(
        path="/organization/new",
        name=Text("Create an organization"),
        group=NavigationGroup.ORGANIZATION,
        audience=NavigationAudience.FOUNDERS,
    ),
    NavigationItem(path="/help", name=Text("Keyboard shortcuts")),
    *(
        NavigationItem(
            path=path,
            name=name,
            label=label,
            group=NavigationGroup.ADMINISTRATION,
            audience=NavigationAudience.PLATFORM,
        )
        for path, name, label in (
            ("/admin/analytics", Text("Analytics"), None),
            ("/admin/users", Text("Users"), None),
            ("/admin/organizations", Text("Organizations"), None),
            ("/admin/agents", Text("Agents"), None),
            ("/admin/approvals", Text("Approvals"), None),
            ("/admin/audit", Text("Tool audit"), None),
            ("/admin/flags", Text("Feature flags"), None),
            ("/admin/jobs", Text("Jobs"), None),
            ("/admin/mailbox", Text("Mailbox"), None),
            ("/admin/system", Text("System"), None),
            ("/admin/log", Text("Change log of the platform"), Text("Change log")),
        )
    ),
)
SHORTCUTS = (
    Shortcut(keys=(Text("Ctrl"), "K"), name=Text("Find a page or an action")),
    Shortcut(keys=("/",), name=Text("Search bookings")),
    Shortcut(keys=("?",), name=Text("Show these shortcuts")),
)


def may_create_organization(user: User) -> bool:
    return user.effective_plan in PLANS_WITH_ORGANIZATIONS


def list_places(entry: Entry) -> list[NavigationItem]:
    audiences = {NavigationAudience.EVERYONE}
    if any(is_administrator(own.role) for own in entry.memberships):
        audiences.add(NavigationAudience.ADMINISTRATORS)
    elif entry.memberships:
        audiences.add(NavigationAudience.MEMBERS)
    elif entry.user is not None and may_create_organization(entry.user):
        audiences.add(NavigationAudience.FOUNDERS)
    if entry.user is not None and entry.user.is_admin:
        audiences.add(NavigationAudience.PLATFORM)
    return [place for place in PLACES if place.audience in audiences]
