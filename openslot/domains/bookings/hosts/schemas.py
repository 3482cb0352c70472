"""The wire shapes of hosts: as the owner of a booking reads them, and as its invitee does."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.teams.models import BookingHost, HostRole
from openslot.platform.core.shapes import Shape


class ShownBookingHost(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """One of those who host a booking of a team's event type."""

    id: Annotated[str, Meta(description="The user's id", examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ef2"])]
    name: Annotated[str, Meta(examples=["Ana Petrova"])]
    role: Annotated[HostRole, Meta(description="The organizer is named first", examples=["organizer"])]


class ManagedHost(Struct, frozen=True, kw_only=True):
    """The host of a booking."""

    name: Annotated[str, Meta(examples=["Mara Lindqvist"])]
    username: Annotated[str, Meta(examples=["mara"])]
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]


_show_host = Shape(ShownBookingHost, BookingHost, names={"id": "user_id"}).show


def show_hosts(hosts: tuple[BookingHost, ...]) -> list[ShownBookingHost]:
    return [_show_host(each) for each in hosts]
