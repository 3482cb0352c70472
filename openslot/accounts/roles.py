"""What owners, administrators and members of an organization may do."""

from openslot.accounts.models import Role

ADMINISTRATORS = frozenset({Role.OWNER, Role.ADMIN})


def is_administrator(role: Role) -> bool:
    """Return whether someone looks after the organization."""
    return role in ADMINISTRATORS


def may_decide_about(role: Role, member: Role) -> bool:
    """Return whether someone may change, suspend or remove a member: owners are the concern of owners."""
    return role is Role.OWNER or (role is Role.ADMIN and member is not Role.OWNER)


def list_grantable(role: Role) -> tuple[Role, ...]:
    """List the roles that someone may give."""
    if role is Role.OWNER:
        return (Role.MEMBER, Role.ADMIN, Role.OWNER)
    return (Role.MEMBER, Role.ADMIN) if role is Role.ADMIN else ()
