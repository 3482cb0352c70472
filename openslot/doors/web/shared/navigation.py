"""Where a user can go: the pages in the navigation, the palette's list of pages and actions, and the shortcuts."""

from enum import StrEnum
from functools import cache, partial

from msgspec import Struct

from openslot.domains.access.models import Entry
from openslot.domains.accounts.members.operations import is_administrator
from openslot.domains.accounts.models import User
from openslot.domains.accounts.plans import PLANS_WITH_ORGANIZATIONS
from openslot.platform.i18n import Text


class NavigationGroup(StrEnum):
    MAIN = "main"
    """The navigation of every page."""
    SETTINGS = "settings"
    """The tabs of the settings, which the navigation shows as one item."""
    ADMINISTRATION = "administration"
    """The part of the navigation below the heading “Administration”."""
    ORGANIZATION = "organization"
    """The part of the navigation below the heading “Organization”."""
    PALETTE = "palette"
    """The palette alone."""


class NavigationAudience(StrEnum):
    EVERYONE = "everyone"
    ADMINISTRATORS = "administrators"
    """Owners and administrators of an organization."""
    MEMBERS = "members"
    """Members of an organization who do not administer it."""
    FOUNDERS = "founders"
    """Users without an organization who may create one."""
    PAID = "paid"
    """Hosts who can be paid for meetings, or were."""
    CONNECTED = "connected"
    """Hosts who have a number for messages or calls."""
    UNCONNECTED = "unconnected"
    PLATFORM = "platform"
    """Administrators of the platform."""


class NavigationItem(Struct, frozen=True):
    """A page, or a form that begins an action."""

    path: str
    name: Text
    label: Text | None = None
    """A shorter name for the navigation, where the heading of the group says the rest."""
    keys: str = ""
    """The keys that lead there, pressed one after the other."""
    icon: str = ""
    """The name of the icon in the navigation."""
    group: NavigationGroup = NavigationGroup.PALETTE
    is_in_bar: bool = False
    """Whether a phone has it in the bar at the bottom."""
    audience: NavigationAudience = NavigationAudience.EVERYONE


class Shortcut(Struct, frozen=True, kw_only=True):
    keys: tuple[str, ...]
    name: Text


_main = partial(NavigationItem, group=NavigationGroup.MAIN)
_in_bar = partial(_main, is_in_bar=True)
_of_organization = partial(NavigationItem, group=NavigationGroup.ORGANIZATION)
_looked_after = partial(_of_organization, audience=NavigationAudience.ADMINISTRATORS)
_of_platform = partial(NavigationItem, group=NavigationGroup.ADMINISTRATION, audience=NavigationAudience.PLATFORM)
TALKS, CALLS = Text("Conversations"), Text("Calls")
ITEMS = (
    _in_bar("/", Text("Home"), keys="g h", icon="home"),
    _in_bar("/bookings", Text("Bookings"), keys="g b", icon="calendar"),
    NavigationItem("/bookings/day", Text("Day")),
    NavigationItem("/bookings/week", Text("Week")),
    NavigationItem("/bookings/month", Text("Month")),
    NavigationItem("/bookings/new", Text("New booking"), keys="g n"),
    NavigationItem("/bookings?view=past", Text("Past bookings")),
    NavigationItem("/bookings?view=cancelled", Text("Cancelled bookings")),
    NavigationItem("/bookings/export.csv", Text("Download upcoming bookings as CSV")),
    _in_bar("/event-types", Text("Event types"), keys="g e", icon="link"),
    NavigationItem("/event-types/new", Text("New event type")),
    NavigationItem("/event-types?view=archived", Text("Archived event types")),
    _in_bar("/availability", Text("Availability"), keys="g v", icon="clock"),
    NavigationItem("/availability/away", Text("Out of office")),
    NavigationItem("/availability/why", Text("Why is a time not offered?")),
    _main("/contacts", Text("Contacts"), keys="g c", icon="people"),
    NavigationItem("/contacts/new", Text("New contact")),
    NavigationItem("/contacts/import", Text("Import contacts")),
    _main("/conversations", TALKS, keys="g m", audience=NavigationAudience.CONNECTED, icon="chat"),
    _main("/calls", CALLS, keys="g p", audience=NavigationAudience.CONNECTED, icon="phone"),
    NavigationItem("/conversations", TALKS, keys="g m", audience=NavigationAudience.UNCONNECTED),
    NavigationItem("/calls", CALLS, keys="g p", audience=NavigationAudience.UNCONNECTED),
    _main("/analytics", Text("Analytics"), keys="g s", icon="chart"),
    _main(
        "/payments",
        Text("Payments received"),
        label=Text("Payments"),
        audience=NavigationAudience.PAID,
        icon="card",
    ),
    NavigationItem("/welcome", Text("First steps")),
    NavigationItem("/account", Text("Account"), keys="g a", group=NavigationGroup.SETTINGS),
    NavigationItem("/account#keys", Text("API keys")),
    NavigationItem("/account#assistants", Text("Connected assistants")),
    NavigationItem("/account/approvals", Text("Requests of assistants")),
    NavigationItem("/account/activity", Text("Activity of assistants")),
    NavigationItem("/account/email", Text("Change your email address")),
    NavigationItem("/account#password-title", Text("Change password")),
    NavigationItem("/settings/profile", Text("Profile"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/branding", Text("Branding"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/notifications", Text("Notifications"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/calendars", Text("Calendars"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/calendars/connect", Text("Connect a calendar")),
    NavigationItem("/settings/payments", Text("Payments"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/messages", Text("Messages"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/crm", Text("CRM"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/webhooks", Text("Webhooks"), keys="g w", group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/webhooks/new", Text("Add a webhook endpoint")),
    NavigationItem("/settings/security", Text("Security"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/sessions", Text("Sessions"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/data", Text("Your data"), group=NavigationGroup.SETTINGS),
    NavigationItem("/settings/data/delete", Text("Delete your account")),
    NavigationItem("/api/docs", Text("API documentation")),
    _looked_after("/organization/members", Text("Members"), icon="people"),
    _looked_after("/organization/teams", Text("Teams"), icon="team"),
    _looked_after("/organization/provisioning", Text("Provisioning"), icon="refresh"),
    _looked_after("/organization/domains", Text("Domains"), icon="globe"),
    _looked_after(
        "/organization/payments",
        Text("Payment account of the organization"),
        label=Text("Payment account"),
        icon="card",
    ),
    _looked_after(
        "/organization/messages",
        Text("Numbers of the organization"),
        label=Text("Messages"),
        icon="phone",
    ),
    _looked_after("/organization/settings", Text("Organization settings"), label=Text("Settings"), icon="settings"),
    _looked_after("/organization/log", Text("Change log"), icon="note"),
    _of_organization(
        "/organization", Text("About your organization"), audience=NavigationAudience.MEMBERS, icon="building"
    ),
    _of_organization("/organization/teams", Text("Teams"), audience=NavigationAudience.MEMBERS, icon="team"),
    _of_organization(
        "/organization/new", Text("Create an organization"), audience=NavigationAudience.FOUNDERS, icon="plus"
    ),
    NavigationItem("/help", Text("Keyboard shortcuts")),
    _of_platform("/admin/analytics", Text("Analytics of the platform"), label=Text("Analytics"), icon="chart"),
    _of_platform("/admin/users", Text("Users"), icon="people"),
    _of_platform("/admin/organizations", Text("Organizations"), icon="building"),
    _of_platform("/admin/agents", Text("Agents"), icon="robot"),
    _of_platform("/admin/approvals", Text("Approvals"), icon="inbox"),
    _of_platform("/admin/team-chat", Text("Team chat"), icon="chat"),
    _of_platform("/admin/audit", Text("Tool audit"), icon="list"),
    _of_platform("/admin/flags", Text("Feature flags"), icon="flag"),
    _of_platform("/admin/messaging", Text("Outgoing messages"), icon="open"),
    _of_platform("/admin/jobs", Text("Jobs"), icon="pulse"),
    _of_platform("/admin/mailbox", Text("Mailbox"), icon="mail"),
    _of_platform("/admin/system", Text("System"), icon="shield"),
    _of_platform("/admin/log", Text("Change log of the platform"), label=Text("Change log"), icon="note"),
)
SHORTCUTS = (
    Shortcut(keys=(Text("Ctrl"), "K"), name=Text("Find pages, people, bookings and event types")),
    Shortcut(keys=("/",), name=Text("Search bookings")),
    Shortcut(keys=("?",), name=Text("Show these shortcuts")),
)


def may_create_organization(user: User) -> bool:
    return user.effective_plan in PLANS_WITH_ORGANIZATIONS


def audiences_of(entry: Entry) -> frozenset[NavigationAudience]:
    audiences = {NavigationAudience.EVERYONE}
    if any(is_administrator(own.role) for own in entry.memberships):
        audiences.add(NavigationAudience.ADMINISTRATORS)
    elif entry.memberships:
        audiences.add(NavigationAudience.MEMBERS)
    elif entry.user is not None and may_create_organization(entry.user):
        audiences.add(NavigationAudience.FOUNDERS)
    audiences.add(NavigationAudience.CONNECTED if entry.has_number else NavigationAudience.UNCONNECTED)
    if entry.takes_payments:
        audiences.add(NavigationAudience.PAID)
    if entry.user is not None and entry.user.is_admin:
        audiences.add(NavigationAudience.PLATFORM)
    return frozenset(audiences)


def list_items(audiences: frozenset[NavigationAudience]) -> tuple[NavigationItem, ...]:
    return tuple(item for item in ITEMS if item.audience in audiences)


# Every page shows them, and to select them there takes a template longer than to write them.
# benchmarks/caches.py: group the items of the navigation, in every page, 51 times
@cache
def group_items(audiences: frozenset[NavigationAudience]) -> dict[str, tuple[NavigationItem, ...]]:
    """List the items of each group, and those of a phone's bar."""
    items = list_items(audiences)
    groups = {str(group): tuple(item for item in items if item.group is group) for group in NavigationGroup}
    return {**groups, "bar": tuple(item for item in items if item.is_in_bar)}
