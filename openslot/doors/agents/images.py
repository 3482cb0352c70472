"""Images of agents: made by the endpoint, written anew, kept for days, and read by a signed address."""

from datetime import timedelta
from uuid import UUID

from openslot.domains.accounts.pictures.operations import rewrite_picture
from openslot.doors.agents import store
from openslot.doors.agents.errors import ImageLost, ImageNotMade, ImagesNotConfigured
from openslot.doors.agents.models import AgentImage, ToolCall
from openslot.platform.core.config import Settings, environment_name
from openslot.platform.core.errors import Invalid, Unavailable
from openslot.platform.core.ids import find_signed_id, new_id, sign_id
from openslot.platform.core.work import Runtime, Work
from openslot.vendors.images import ImageFailed, ImagesEndpoint, request_image

PURPOSE = "agent image"


async def check_configured(work: Work, call: ToolCall, arguments: object) -> None:
    """Refuse a call before anything is reserved for it if there is nobody who could make an image."""
    get_endpoint(work.runtime.settings)


def get_endpoint(settings: Settings) -> ImagesEndpoint:
    url, key, model = settings.images_url, settings.images_key, settings.images_model
    if url and key and model:
        return ImagesEndpoint(url, key, model)
    given = {"images_url": url, "images_key": key, "images_model": model}
    missing = ", ".join(environment_name(name) for name, value in given.items() if not value)
    raise ImagesNotConfigured(f"This installation can't make images. The operator must set {missing}")


async def make_image(work: Work, call: ToolCall, *, prompt: str, size: str) -> tuple[AgentImage, int]:
    """Have an image made and written anew; it is staged, and kept when the call is committed. Return its bytes, too."""
    settings = work.runtime.settings
    try:
        came = await request_image(
            work.runtime.outbound.on_behalf_of(None), get_endpoint(settings), prompt=prompt, size=size
        )
        picture = await rewrite_picture(came)
    except ImageFailed as fault:
        raise (ImageLost if fault.may_be_charged else ImageNotMade)(fault.message) from None
    except Invalid as fault:
        why = ", ".join((fault.details or {}).values())
        raise ImageLost(f"What the images endpoint has sent can't be used: it {why}") from None
    except Unavailable as fault:
        raise ImageLost(fault.message) from None
    now = work.runtime.clock()
    image = AgentImage(
        id=new_id(),
        at=now,
        expires_at=now + timedelta(days=settings.keep_image_days),
        agent=call.caller.agent.slug,
        audit_id=call.id,
        width=picture.width,
        height=picture.height,
    )
    work.stage(store.insert_image(image, picture.body))
    return image, len(picture.body)


def image_url(runtime: Runtime, image_id: UUID) -> str:
    """Write the address of an image, which nobody can guess; it works until the image expires."""
    return f"{runtime.settings.public_url}/photos/agents/{sign_id(runtime.signer, PURPOSE, image_id)}.jpg"


async def find_image(work: Work, token: str) -> bytes | None:
    image_id = find_signed_id(work.runtime.signer, PURPOSE, token)
    return await store.find_image(work.db, image_id, now=work.now) if image_id is not None else None
