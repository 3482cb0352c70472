"""What happened to accounts."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event


class UserEvent(Event, frozen=True, kw_only=True):
    """Something happened to a user."""

    user_id: UUID
    email: str

    @property
    def tenant_id(self) -> UUID | None:
        return self.user_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "user", self.user_id


class UserAdded(UserEvent, frozen=True, kw_only=True):
    """An account was created."""

    type: ClassVar[str] = "user.added"


class UserDisabled(UserEvent, frozen=True, kw_only=True):
    """An account was disabled: its owner can't sign in, and nobody can book."""

    type: ClassVar[str] = "user.disabled"
    reason: str | None = None


class UserEnabled(UserEvent, frozen=True, kw_only=True):
    """A disabled account was enabled again."""

    type: ClassVar[str] = "user.enabled"


class PlanChanged(UserEvent, frozen=True, kw_only=True):
    """A user's own plan was changed."""

    type: ClassVar[str] = "user.plan_changed"
    plan: str
    previous: str
    reason: str | None = None


class UserChanged(UserEvent, frozen=True, kw_only=True):
    """A user's name or email address was changed."""

    type: ClassVar[str] = "user.changed"
    name: str
    previous_email: str


class UserSettingsChanged(UserEvent, frozen=True, kw_only=True):
    """A user's name, username, time zone or language was changed."""

    type: ClassVar[str] = "user.settings_changed"
    changed: tuple[str, ...]
    """The names of the changed settings, among the fields below."""
    name: str
    username: str
    zone: str
    locale: str


class UserPasswordChanged(UserEvent, frozen=True, kw_only=True):
    """A user has changed the password, or reset it by a link in an email; the user will be notified."""

    type: ClassVar[str] = "user.password_changed"
    by_link: bool


class MemberAdded(UserEvent, frozen=True, kw_only=True):
    """A user joined an organization."""

    type: ClassVar[str] = "member.added"
    organization_id: UUID


class MemberRemoved(UserEvent, frozen=True, kw_only=True):
    """A user left an organization, or was removed from it."""

    type: ClassVar[str] = "member.removed"
    organization_id: UUID


class MemberSuspended(UserEvent, frozen=True, kw_only=True):
    """An organization has suspended a member and closed the account."""

    type: ClassVar[str] = "member.suspended"
    organization_id: UUID


class MemberReinstated(UserEvent, frozen=True, kw_only=True):
    """A suspended member may sign in and be booked again."""

    type: ClassVar[str] = "member.reinstated"
    organization_id: UUID


class DomainVerified(Event, frozen=True, kw_only=True):
    """An organization has proved that it owns a domain."""

    type: ClassVar[str] = "domain.verified"
    organization_id: UUID
    domain: str


class InvitationCreated(UserEvent, frozen=True, kw_only=True):
    """Someone was invited to take over an account or to join an organization; the link will be sent by email."""

    type: ClassVar[str] = "invitation.created"
    invitation_id: UUID
    organization_id: UUID
    organization_name: str


class InvitationAccepted(UserEvent, frozen=True, kw_only=True):
    """An invitation was accepted."""

    type: ClassVar[str] = "invitation.accepted"
    invitation_id: UUID
    organization_id: UUID


class OrganizationDeleted(Event, frozen=True, kw_only=True):
    """An organization was deleted; its members keep their accounts."""

    type: ClassVar[str] = "organization.deleted"
    organization_id: UUID
    name: str
    slug: str
    members: int
    """How many there were, without those who had not accepted an invitation."""
    domains: tuple[str, ...]
    """The verified ones, which are free now."""
    cancelled_bookings: int
    """Upcoming bookings of members whose departure waited for a decision."""

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "organization", self.organization_id


class SignUpRequested(Event, frozen=True, kw_only=True):
    """Someone has sent the sign-up form; the link will be sent by email."""

    type: ClassVar[str] = "sign_up.requested"
    sign_up_id: UUID

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "sign_up", self.sign_up_id


class SignUpVerified(UserEvent, frozen=True, kw_only=True):
    """Someone has verified the email address of a sign-up, and the account was created."""

    type: ClassVar[str] = "sign_up.verified"
    sign_up_id: UUID


class UserDataExported(UserEvent, frozen=True, kw_only=True):
    """The export of a user's data is ready."""

    type: ClassVar[str] = "user.data_exported"
    export_id: UUID
    expires_at: datetime
    base_url: str


class UserDeletionBegun(UserEvent, frozen=True, kw_only=True):
    """The deletion of an account was requested: it is closed, and its upcoming bookings will be cancelled."""

    type: ClassVar[str] = "user.deletion_begun"
    finish_by: datetime


class UserDeletionEnding(UserEvent, frozen=True, kw_only=True):
    """Everything that follows from an account's deletion is done; its data will be erased next."""

    type: ClassVar[str] = "user.deletion_ending"
    cancelled_bookings: int


class UserDeleted(Event, frozen=True, kw_only=True):
    """An account was deleted with all its data; only its id remains."""

    type: ClassVar[str] = "user.deleted"
    user_id: UUID

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "user", self.user_id


ACCOUNT_EVENTS: tuple[type[Event], ...] = (
    UserAdded,
    UserDisabled,
    UserEnabled,
    UserChanged,
    UserSettingsChanged,
    UserPasswordChanged,
    PlanChanged,
    MemberAdded,
    MemberRemoved,
    MemberSuspended,
    MemberReinstated,
    DomainVerified,
    OrganizationDeleted,
    InvitationCreated,
    InvitationAccepted,
    SignUpRequested,
    SignUpVerified,
    UserDataExported,
    UserDeletionBegun,
    UserDeletionEnding,
    UserDeleted,
)
