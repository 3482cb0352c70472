"""REST: who am I."""

from litestar import get
from litestar.di import NamedDependency

from openslot.accounts.models import User
from openslot.accounts.schemas import Me, show_me
from openslot.core.responses import ERRORS


@get("/me", tags=["User"], summary="Read the user whose key is used", operation_id="getMe", responses=ERRORS)
async def get_me(user: NamedDependency[User]) -> Me:
    """Tell whose key this is and which plan counts."""
    return show_me(user)
