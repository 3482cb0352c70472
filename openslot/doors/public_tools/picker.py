"""The slot picker that a chat shows beside free times (MCP Apps): one page, with its texts in every language."""

from importlib.resources import files

import msgspec

from openslot.doors.mcp.protocol import TextResource
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import LANGUAGES, Locale
from openslot.platform.i18n.localization import localize

PICKER_URI = "ui://openslot/times"
TEXTS = (
    Text("Choose a time"),
    Text("Previous month"),
    Text("Next month"),
    Text("No times available. Try later dates."),
)
WORDS = "const WORDS = {};"


def read_picker() -> str:
    source = (files("openslot.doors.public_tools") / "picker.html").read_text("utf-8")
    return source.replace(WORDS, f"const WORDS = {_words()};", 1)


def _words() -> str:
    locales = [Locale(language=each, formats=each.formats) for each in LANGUAGES.values()]
    words = {each.language.tag: [str(localize(text, each)) for text in TEXTS] for each in locales}
    return msgspec.json.encode(words).decode()


PICKER = TextResource(
    uri=PICKER_URI,
    name="times",
    title="Choose a time",
    description="A month with its free times, to choose one",
    mime_type="text/html;profile=mcp-app",
    read=read_picker,
    # It loads nothing: the policy of the chat may close everything but the page itself.
    meta={"ui": {"csp": {}, "prefersBorder": True}},
)
