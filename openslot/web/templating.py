"""Templates, compiled once for each language, so that its words are a part of them and no page looks them up again."""

import hashlib
import re
import sys
from functools import cache
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined, Template, nodes, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from openslot.core.text import defuse, without_turns
from openslot.i18n.languages import ENGLISH, Language
from openslot.i18n.localization import get_catalog, localize, read_source
from openslot.web.static_files import assets, static_url

# How templates call what people choose for themselves and others read. Inside `<bdi>`, in a title and in a sentence it
# becomes no link; descriptions, places and messages are texts, in which links are meant.
NAMES = frozenset(
    {
        "actor_name",
        "event",
        "event_type",
        "host",
        "host_name",
        "invitee",
        "invitee_name",
        "name",
        "names",
        "organization",
        "organization_name",
        "user_name",
    }
)
NOT_NAMES = frozenset({"domain", "zone", "calendar"})
TRANSLATING = frozenset({"_", "gettext", "ngettext"})
OPENED = re.compile(r'<(?:bdi[^>]*|span\sclass="unseen")>\s*$')
# Most of what a page shows is one of these, which are the same to every reader.
PLAIN = frozenset({str, Markup, int})


class TemplateCache(FileSystemBytecodeCache):
    """The templates of one language, kept where Python keeps its own bytecode, and under the same rules.

    A file counts only for the source and the version that it was made from. Where files can't be read or written,
    templates are compiled in memory.
    """

    def __init__(self, language: str, *, version: str) -> None:
        super().__init__(str(Path(cache_from_source(__file__)).parent), f"{language}-%s.template")
        self._version = version

    def get_source_checksum(self, source: str) -> str:
        """Return the checksum of everything that a compiled template is made from."""
        return super().get_source_checksum(self._version + source)

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


class LanguageTemplates(Environment):
    language: Language = ENGLISH

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        translated = _Translator(self.language).visit(source)
        return super()._generate(translated, name, filename, defer_init)


class _Translator(NodeTransformer):
    """Replaces what depends on nothing but the language: `_("…")`, `trans` without a plural, and `static("…")`.

    Names are passed through the filter `defused`.
    """

    def __init__(self, language: Language) -> None:
        self._catalog = get_catalog(language)
        self._in_title = False

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802 - the name that Jinja calls
        self._in_title = node.name == "title"
        self.generic_visit(node)
        self._in_title = False
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Node:  # noqa: N802 - the name that Jinja calls
        self.generic_visit(node)
        before = [None, *node.nodes]
        node.nodes = [
            _defused(each) if self._in_title or _opens_bdi(last) else each
            for last, each in zip(before, node.nodes, strict=False)
        ]
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 - the name that Jinja calls
        self.generic_visit(node)
        if isinstance(node.node, nodes.Name) and node.node.name in TRANSLATING:
            for value in node.kwargs:
                value.value = _defused(value.value, key=value.key)
        match node:
            case nodes.Call(node=nodes.Name(name="static"), args=[nodes.Const(value=path)]):
                return nodes.TemplateData(static_url(path))
            case nodes.Call(node=nodes.Name(name="_" | "gettext"), args=[nodes.Const(value=text)]):
                return _fill_in(self._catalog.gettext(text), node.kwargs)
            case nodes.Call(node=nodes.Name(name="_" | "gettext" | "static")):
                raise TypeError(f"line {node.lineno}: a translation or a static file must be one constant")
        return node


def _opens_bdi(node: nodes.Node | None) -> bool:
    return isinstance(node, nodes.TemplateData) and OPENED.search(node.data) is not None


def _defused(node: nodes.Expr, *, key: str = "") -> nodes.Expr:
    """Pass a name through the filter; everything else stays as it is."""
    match node:
        case nodes.Getattr(node=nodes.Name(name=owner), attr=name) if owner not in NOT_NAMES:
            pass
        case nodes.Getattr(attr=name) if not isinstance(node.node, nodes.Name):
            pass
        case nodes.Name(name=name):
            pass
        case _:
            return node
    return nodes.Filter(node, "defused", [], [], None, None) if name in NAMES or key in NAMES else node


def _fill_in(text: str, values: list[nodes.Keyword]) -> nodes.Expr:
    """Fill in values as Jinja's own `gettext` does: a translation is HTML, its values are escaped."""
    if not values:
        return nodes.TemplateData(text % {})
    pairs = [nodes.Pair(nodes.Const(each.key), each.value) for each in values]
    return nodes.Mod(nodes.TemplateData(text), nodes.Dict(pairs))


@pass_context
def _ngettext(context: Context, singular: str, plural: str, count: int) -> str:
    return get_catalog(context["locale"].language).ngettext(singular, plural, count)


@pass_context
def _localize(context: Context, value: object) -> object:
    return value if type(value) in PLAIN else localize(value, context["locale"])


def _defuse(value: object) -> object:
    return defuse(value) if type(value) is str else value


@pass_context
def _sentence(context: Context, fault: str) -> str:
    """Capitalize a field's fault, as it is shown below the field."""
    shown = str(localize(fault, context["locale"]))
    return shown[:1].upper() + shown[1:]


templates = LanguageTemplates(
    loader=PackageLoader("openslot.web"),
    # A template that is edited counts after a restart, as any other source does.
    auto_reload=False,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_localize,
    extensions=["jinja2.ext.i18n"],
)
"""The English ones; those of other languages have the same filters and globals."""

templates.policies["ext.i18n.trimmed"] = True
templates.install_gettext_callables(None, _ngettext, newstyle=True)  # type: ignore[attr-defined]
templates.filters |= {"defused": _defuse, "localized": _localize, "sentence": _sentence, "without_turns": without_turns}


def get_template(name: str, language: Language) -> Template:
    return _templates_in(language).get_template(name)


@cache
def _templates_in(language: Language) -> LanguageTemplates:
    made = templates.overlay(bytecode_cache=TemplateCache(language.tag, version=_version_in(language)))
    made.language = language
    return made


def _version_in(language: Language) -> str:
    """Return a hash of what a compiled template is made from beside its source: these rules, its words, static URLs."""
    rules = (version("jinja2"), Path(__file__).read_bytes(), sorted(templates.filters))
    made_from = (rules, read_source(language), {path: asset.version for path, asset in assets().items()})
    return hashlib.sha256(repr(made_from).encode()).hexdigest()
