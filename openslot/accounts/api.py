"""REST: who am I."""

from openslot.accounts.models import User
from openslot.accounts.schemas import Me, show_me
from openslot.routing import get


@get("/me", tag="User", summary="Read the user whose key is used")
async def get_me(user: User) -> Me:
    """Tell whose key this is and which plan counts."""
    return show_me(user)
