"""Roles and states of members, in words."""

from openslot.accounts.models import MemberState, Role
from openslot.i18n import Text

ROLES = {Role.OWNER: Text("Owner"), Role.ADMIN: Text("Administrator"), Role.MEMBER: Text("Member")}
STATES = {
    MemberState.ACTIVE: (Text("Active"), "good"),
    MemberState.INVITED: (Text("Invited"), "warn"),
    MemberState.EXPIRED: (Text("Invitation expired"), "bad"),
    MemberState.SUSPENDED: (Text("Suspended"), ""),
    MemberState.CLOSED: (Text("Account disabled"), ""),
}
