"""Templates: Jinja with the words of the reader's language, and what it compiles kept as Python keeps its bytecode."""

import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined, Template, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from markupsafe import Markup

from openslot.doors.web.shared.static_files import static_url
from openslot.platform.core.text import defuse, without_direction_marks
from openslot.platform.i18n.languages import Language
from openslot.platform.i18n.localization import get_catalog, localize

# Most of what a page shows is one of these, which are the same to every reader.
PLAIN = frozenset({str, Markup, int, float})


# benchmarks/caches.py: load the templates of a booking page, in a new process, 42 times
class TemplateCache(FileSystemBytecodeCache):
    """Compiled templates, kept where Python keeps its own bytecode, and under the same rules.

    Where files can't be read or written, templates are compiled in memory.
    """

    def __init__(self) -> None:
        # Jinja counts a file only for the source that it was made from.
        super().__init__(str(Path(cache_from_source(__file__)).parent), f"jinja-{version('jinja2')}-%s.template")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a compiled template, unless its file is missing or damaged."""
        try:
            super().load_bytecode(bucket)
        except (OSError, EOFError, ValueError, UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a compiled template, unless Python is told to write none or the disk refuses."""
        if sys.dont_write_bytecode:
            return
        try:
            super().dump_bytecode(bucket)
        except OSError:
            return


@pass_context
def _localize(context: Context, value: object) -> object:
    return value if type(value) in PLAIN else localize(value, context["locale"])


def _defuse(value: object) -> object:
    """Write a name, which people choose for themselves and others read, so that it becomes no link."""
    return defuse(value) if type(value) is str else value


@pass_context
def _sentence(context: Context, fault: str) -> str:
    """Capitalize a field's fault, as it is shown below the field."""
    shown = str(localize(fault, context["locale"]))
    return shown[:1].upper() + shown[1:]


templates = Environment(
    loader=PackageLoader("openslot.doors.web"),
    # A template that is edited counts after a restart, as any other source does.
    auto_reload=False,
    bytecode_cache=TemplateCache(),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_localize,
    extensions=["jinja2.ext.i18n"],
)
templates.policies["ext.i18n.trimmed"] = True
templates.newstyle_gettext = True  # type: ignore[attr-defined]
templates.globals["static"] = static_url
templates.filters |= {
    "defused": _defuse,
    "localized": _localize,
    "sentence": _sentence,
    "without_direction_marks": without_direction_marks,
}


def get_template(name: str, language: Language) -> Template:
    return _templates_in(language).get_template(name)


# benchmarks/caches.py: host's page, 3.0 times
@cache
def _templates_in(language: Language) -> Environment:
    made = templates.overlay()
    made.globals = templates.globals | _words_of(language)
    return made


def _words_of(language: Language) -> dict[str, Callable[..., Markup]]:
    """Return what Jinja's `install_gettext_callables` would install, without its look at the context for each word."""
    catalog = get_catalog(language)

    # benchmarks/caches.py: say a text, dozens of times in every page, 6.5 times
    @cache
    def find_plain(text: str) -> Markup:
        return _fill_in(catalog.gettext(text), {})

    def gettext(text: str, /, **values: object) -> Markup:
        return _fill_in(catalog.gettext(text), values) if values else find_plain(text)

    def ngettext(singular: str, plural: str, number: int, /, **values: object) -> Markup:
        return _fill_in(catalog.ngettext(singular, plural, number), values)

    return {"_": gettext, "gettext": gettext, "ngettext": ngettext}


def _fill_in(text: str, values: dict[str, object]) -> Markup:
    return Markup(text) % values  # noqa: S704 - a translation is HTML, its values are escaped
