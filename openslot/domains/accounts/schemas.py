"""The wire shapes of accounts."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.times import Instant, iso


class Me(Struct, frozen=True, kw_only=True, rename="camel"):
    """The user that the API key belongs to."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"])]
    email: Annotated[str, Meta(examples=["mara@lindqvist.example"])]
    name: Annotated[str, Meta(examples=["Mara Lindqvist"])]
    username: Annotated[str, Meta(examples=["mara"])]
    plan: Annotated[Plan, Meta(description="The user's own plan", examples=["FREE"])]
    effective_plan: Annotated[
        Plan, Meta(description="The plan in effect: the user's own, a trial's or an organization's", examples=["PRO"])
    ]
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]
    created_at: Instant
    updated_at: Instant


def show_me(user: User) -> Me:
    return Me(
        id=str(user.id),
        email=user.email,
        name=user.name,
        username=user.username,
        plan=user.plan,
        effective_plan=user.effective_plan,
        timezone=user.zone,
        created_at=iso(user.created_at),
        updated_at=iso(user.updated_at),
    )
