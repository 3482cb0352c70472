"""Files that providers keep, checked before anybody gets them."""

from openslot.domains.messaging.models import Media, MediaLimits
from openslot.domains.messaging.ports import MediaRefused
from openslot.platform.core.outbound import OutboundResponse


def read_media(response: OutboundResponse, limits: MediaLimits) -> Media:
    """Return the file that was fetched, or refuse one that is too large or of another type."""
    if response.truncated:
        raise MediaRefused(f"the file has more than {limits.max_bytes} bytes")
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not limits.allows(content_type) or "content-encoding" in response.headers:
        raise MediaRefused("files of this type are not allowed")
    return Media(content=response.body, content_type=content_type)
