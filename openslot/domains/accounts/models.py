"""The nouns: users, organizations and who belongs to what."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import Actor
from openslot.platform.i18n.languages import Hours

_FIRST_WORDS = """
about account accounts admin administrator analytics api app apple-touch-icon assets auth availability billing blog
bookings calendar calls connect contact contacts conversations dashboard developers docs e embed en event-types events
favicon.ico feed health healthz help holds home hooks invite join legal llms.txt login logout manage manifest.json mcp
me members messages metrics new oauth openapi openslot org organization organizations pages password pay payments photos
pricing privacy public readyz register reschedule robots.txt root schedules schemas scim search security settings setup
sign-in sign-out sign-up signup sitemap.xml sms static status support system team teams terms unsubscribe user users v1
v2 verify voice wait-list webhook webhooks welcome well-known .well-known whatsapp widget widget-demo widget.js www
"""
RESERVED = frozenset(_FIRST_WORDS.split())
"""Usernames that nobody can have: the first words of our own addresses."""


class Role(StrEnum):
    """What a member may do in an organization."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"


class AssistantPolicy(StrEnum):
    """What the assistants of an organization's members may do; the strictest of several organizations counts."""

    ALLOWED = "allowed"
    READ = "read"
    """Look things up, and change nothing."""
    FORBIDDEN = "forbidden"


class ColorTheme(StrEnum):
    LIGHT = "light"
    DARK = "dark"


class User(Struct, frozen=True, kw_only=True):
    """A person with an account; the host of what is booked."""

    id: UUID
    no: int
    email: str
    name: str
    username: str
    plan: Plan
    effective_plan: Plan
    zone: str
    locale: str
    is_admin: bool
    disabled_at: datetime | None
    created_at: datetime
    updated_at: datetime
    photo: str | None = None
    welcome_step: int | None = None
    """The next of the first steps of a new user; None once they are finished or skipped."""
    theme: ColorTheme | None = None
    """None if the system's theme is used."""
    hour_format: Hours | None = None
    """None if it is the usual one of the language, here and for `first_weekday`, which counts from Monday as 0."""
    first_weekday: int | None = None


class UserWanted(Struct, frozen=True, kw_only=True):
    email: str
    name: str
    username: str | None = None
    plan: Plan = Plan.FREE
    zone: str = "UTC"
    locale: str = "en"
    is_admin: bool = False
    signed_up: bool = False
    """Whether anybody could have opened the account, and not the operator, an organization or a provider."""


class UserStatus(StrEnum):
    ACTIVE = "active"
    DISABLED = "disabled"


class UserSettings(Struct, frozen=True, kw_only=True):
    """The settings of a user that are to be changed; those that are not given stay."""

    name: str | UnsetType = UNSET
    username: str | UnsetType = UNSET
    zone: str | UnsetType = UNSET
    locale: str | UnsetType = UNSET


class Preferences(Struct, frozen=True, kw_only=True):
    """How a user wants their own pages to look; None for what is usual in the system and the language."""

    theme: ColorTheme | None
    hour_format: Hours | None
    first_weekday: int | None


class FormerUsername(Struct, frozen=True, kw_only=True):
    name: str
    leads: bool
    """Whether links with it lead to the user's page."""
    left_at: datetime
    reserved_until: datetime


class Activity(Struct, frozen=True, kw_only=True):
    """One thing that happened to a user's account or to what belongs to it."""

    id: UUID
    type: str
    at: datetime
    actor: Actor
    subject_type: str
    subject_id: UUID | None


class Organization(Struct, frozen=True, kw_only=True):
    """A company or team whose plan its members share."""

    id: UUID
    name: str
    slug: str
    plan: Plan
    plan_until: datetime | None
    plan_origin: Literal["operator", "subscription"] | None = None
    """Whether an operator or a subscription set the plan; None if it was set before this was recorded, or by nobody."""
    keeps_bookings: bool = False
    """Whether the bookings of a suspended member stay."""
    departure_share: int = 20
    """How many members of a hundred a provider may suspend or remove within an hour."""
    assistants: AssistantPolicy = AssistantPolicy.ALLOWED
    created_at: datetime
    updated_at: datetime


DEFAULT_COLOR = "#3155d9"


class Brand(Struct, frozen=True, kw_only=True):
    """What is shown at the top of pages and mail, and the color of their buttons."""

    name: str
    color: str = DEFAULT_COLOR
    logo_url: str | None = None
    logo_size: tuple[int, int] | None = None
    """The width and height of an uploaded logo in mail; None if not known."""
    photo_url: str | None = None
    """The photo beside the name, if there is no logo."""


PRODUCT = Brand(name="Openslot")


class ChosenBrand(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is shown in the mail of a user or of an organization's members; None if nothing was chosen."""

    name: str | None = None
    color: str | None = None
    logo_url: str | None = None

    def complete(self, *, name: str, color: str = DEFAULT_COLOR) -> Brand:
        return Brand(name=self.name or name, color=self.color or color, logo_url=self.logo_url)


class ImageKind(StrEnum):
    LOGO = "logo"
    COVER = "cover"


class BrandImage(Struct, frozen=True, kw_only=True):
    """A picture of a host's pages; its size is in pixels of the file, of which a page shows two as one."""

    hash: str
    width: int
    height: int

    def fit(self, width: int, height: int) -> tuple[int, int]:
        """Return its size where it has so much place."""
        share = min(0.5, width / self.width, height / self.height)
        return max(1, round(self.width * share)), max(1, round(self.height * share))


NEW_FOR = timedelta(days=7)


class PageBrand(Struct, frozen=True, kw_only=True):
    """What a host's pages show beside name, photo and color."""

    logo: BrandImage | None = None
    cover: BrandImage | None = None
    shows_footer: bool = True
    signed_up_at: datetime | None = None
    """When the account was opened; None if somebody vouches for it."""

    def is_new(self, *, now: datetime) -> bool:
        """Answer whether links that the host has written have to show their address instead of words."""
        return self.signed_up_at is not None and now - self.signed_up_at < NEW_FOR

    @property
    def logo_path(self) -> str | None:
        return f"/photos/{self.logo.hash}.png" if self.logo else None

    @property
    def cover_path(self) -> str | None:
        return f"/photos/{self.cover.hash}.jpg" if self.cover else None


PLAIN_PAGE = PageBrand()


class BrandedHost(Struct, frozen=True, kw_only=True):
    """Whose time is booked, and the brand that their pages and their mail have."""

    name: str
    email: str
    zone: str
    locale: str
    photo: str | None
    brand: Brand
    page: PageBrand


class Domain(Struct, frozen=True, kw_only=True):
    """A mail domain that an organization claims; verified ones belong to one organization alone."""

    id: UUID
    organization_id: UUID
    domain: str
    proof: str
    verified_at: datetime | None
    created_at: datetime


class Membership(Struct, frozen=True, kw_only=True):
    id: UUID
    organization_id: UUID
    user_id: UUID
    role: Role
    active: bool
    created_at: datetime
    updated_at: datetime


class OwnMembership(Struct, frozen=True, kw_only=True):
    organization_id: UUID
    organization_name: str
    role: Role


class Member(Struct, frozen=True, kw_only=True):
    """A user's place in an organization, together with the account behind it."""

    id: UUID
    organization_id: UUID
    user: User
    role: Role
    active: bool
    """Whether it counts: the plan is shared, and a managed account is open."""
    said_active: bool | None
    """Whether the provider says that the member is active; None once it has removed the attribute."""
    pending: bool
    """Whether the owner of the account has yet to accept."""
    profile: dict[str, Any] | None
    """The attributes as a provider sent them; None if no provider manages the member."""
    version: int
    is_in_domain: bool
    """Whether the account's address is in a domain that this organization has verified."""
    is_in_other_domain: bool
    """Whether it is in one that another organization has."""
    created_at: datetime
    updated_at: datetime

    @property
    def is_managed(self) -> bool:
        """Return whether the organization may close the account: not a stranger's, and not another organization's."""
        return self.is_in_domain or not (self.pending or self.is_in_other_domain)

    @property
    def shown_name(self) -> str:
        """Return what others read: not the name of a stranger's account before its owner has joined."""
        return self.user.email if self.pending else self.user.name


class MemberState(StrEnum):
    ACTIVE = "active"
    INVITED = "invited"
    EXPIRED = "expired"
    SUSPENDED = "suspended"
    CLOSED = "closed"
    """The account was closed by someone else."""


class InvitationLimit(StrEnum):
    """Which limit keeps an invitation from being sent."""

    ORGANIZATION = "organization"
    RECIPIENT = "recipient"


class ListedMember(Struct, frozen=True, kw_only=True):
    """A member as administrators see one, with the state of the invitation."""

    member: Member
    has_password: bool
    invited_at: datetime | None
    """When the last invitation that was not accepted was sent."""
    invited_until: datetime | None
    invitation_id: UUID | None = None
    refused: InvitationLimit | None = None

    def get_state(self, *, now: datetime) -> MemberState:
        if self.member.pending:
            is_running = self.invited_until is not None and self.invited_until > now
            return MemberState.INVITED if is_running else MemberState.EXPIRED
        if not self.member.active:
            return MemberState.SUSPENDED
        return MemberState.ACTIVE if self.member.user.disabled_at is None else MemberState.CLOSED

    @property
    def can_be_invited(self) -> bool:
        """Whether a step is missing that an invitation asks for."""
        member = self.member
        return member.pending or (member.active and not self.has_password and member.user.disabled_at is None)


class MemberFilter(Struct, frozen=True, kw_only=True):
    search: str = ""
    role: str = ""
    state: str = ""
    """`active`, `invited` or `suspended`; empty for all."""


class Invitation(Struct, frozen=True, kw_only=True):
    id: UUID
    organization_id: UUID
    organization_name: str
    user: User
    has_password: bool
    expires_at: datetime


class SignUp(Struct, frozen=True, kw_only=True):
    """What somebody has typed to sign up; there is no account before the link in the mail is used."""

    id: UUID
    browser_hash: bytes
    email: str
    name: str
    zone: str
    locale: str
    password_hash: str
    created_at: datetime
    expires_at: datetime
