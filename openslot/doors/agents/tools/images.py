"""Tool: images by a model."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from openslot.doors.agents import images
from openslot.doors.agents.models import AgentImage, Tier, ToolCall
from openslot.doors.agents.registry import tool
from openslot.platform.core.dollars import to_usd
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import PROSE
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Work


class GeneratedImage(Struct, frozen=True, kw_only=True, rename="camel"):
    """An image, and the address at which it can be fetched."""

    id: UUID
    url: Annotated[str, Meta(description="Anyone who has this address can fetch the image until it expires")]
    expires_at: Instant
    media_type: Annotated[str, Meta(examples=["image/jpeg"])]
    width: int
    height: int
    bytes: int
    cost_usd: float


_IMAGE = Shape(GeneratedImage, AgentImage, given=("url", "media_type", "bytes", "cost_usd"))


@tool(
    scope="images:write",
    tier=Tier.T2,
    cost=lambda settings: int(settings.agent_image_cost),
    check=images.check_configured,
    transaction="none",
    is_idempotent=False,
    reaches_outside=True,
)
async def generate_image(
    work: Work,
    call: ToolCall,
    *,
    prompt: Annotated[
        str, Meta(pattern=PROSE, min_length=1, max_length=4000, description="What the image shows, and in which style")
    ],
    size: Annotated[
        Literal["1024x1024", "1536x1024", "1024x1536"], Meta(description="Width and height in pixels")
    ] = "1024x1024",
) -> GeneratedImage:
    """Have an image made by a model, and get the address of a JPEG.

    Use it for pictures of posts, pages and campaigns. It takes up to 3 minutes. The image is deleted after 7 days
    unless the operator has chosen another time: download it before. Costs 0.04 USD unless the operator has set another
    price: call check_budget first. Refusals by the provider cost nothing (image_not_made); if an answer is lost or is
    no picture, the provider may have charged for it, so the cost stays (image_lost). Every call makes another image.
    It needs confirm: true.
    """
    image, size_in_bytes = await images.make_image(work, call, prompt=prompt, size=size)
    return _IMAGE.show(
        image,
        url=images.image_url(work.runtime, image.id),
        media_type="image/jpeg",
        bytes=size_in_bytes,
        cost_usd=to_usd(int(work.runtime.settings.agent_image_cost)),
    )
