"""How a page looks where its link is shared: title, description, image, and the address that counts."""

from msgspec import Struct

from openslot.core.work import Work
from openslot.event_types.models import EventType
from openslot.i18n import Text
from openslot.web.assets import static_url

LONGEST = 200


class SharePreview(Struct, frozen=True, kw_only=True):
    """What a message or a post shows of a page."""

    title: str
    description: str
    url: str
    path: str
    image: str
    is_listed: bool = True
    """Whether search engines may list the page."""


def preview_host(work: Work, name: str, username: str) -> SharePreview:
    """Describe a host's page."""
    return _preview(work, f"/{username}", title=name, description=_invite(name))


def preview_event_type(work: Work, event_type: EventType, host_name: str, username: str) -> SharePreview:
    """Describe an event type's page; a private one without its token, which is a secret."""
    return _preview(
        work,
        f"/{username}/{event_type.slug}",
        title=Text("%(event)s with %(host)s", event=event_type.name, host=host_name),
        description=_shorten(event_type.description) or _invite(host_name),
        is_listed=not event_type.is_private,
    )


def _preview(work: Work, path: str, *, title: str, description: str, is_listed: bool = True) -> SharePreview:
    base = work.runtime.settings.public_url
    image = f"{base}{static_url('share.png')}"
    return SharePreview(
        title=title, description=description, url=f"{base}{path}", path=path, image=image, is_listed=is_listed
    )


def _invite(host_name: str) -> Text:
    return Text("Choose a time to meet with %(host)s.", host=host_name)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"
