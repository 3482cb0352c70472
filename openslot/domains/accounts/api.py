"""REST: who am I."""

from openslot.domains.accounts.models import User
from openslot.domains.accounts.schemas import Me, show_me
from openslot.platform.routing import get


@get("/me", tag="User", summary="Get the current user")
async def get_me(user: User) -> Me:
    """Get the user that the API key belongs to, with the plan in effect."""
    return show_me(user)
