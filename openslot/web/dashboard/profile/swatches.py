"""A button in a host's colour on light and on dark paper, as booking pages show it."""

from msgspec import Struct

from openslot.integrations.mail.colours import DARK_PAPER, PAPER
from openslot.web.booking_page.accents import shade


class Swatch(Struct, frozen=True, kw_only=True):
    """The colours of one button and of what is around it."""

    name: str
    paper: str
    accent: str
    ink: str


def list_swatches(colour: str) -> tuple[Swatch, Swatch]:
    """Show a colour on light and on dark paper; where text would not be readable, it is changed as far as needed."""
    light, dark = shade(colour, PAPER), shade(colour, DARK_PAPER)
    return (
        Swatch(name="light", paper=PAPER, accent=light["accent"], ink=light["accent-ink"]),
        Swatch(name="dark", paper=DARK_PAPER, accent=dark["accent"], ink=dark["accent-ink"]),
    )
