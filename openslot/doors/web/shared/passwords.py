"""The password that is asked for again."""

from typing import Annotated

from msgspec import Meta

from openslot.platform.core.text import LINE
from openslot.platform.i18n import Text
from openslot.platform.routing import WhenEmpty

CurrentPassword = Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your current password"))]
