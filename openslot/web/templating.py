"""Templates, compiled once for each language, so that its words are a part of them and no page looks them up again."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, nodes, pass_context
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from openslot.core.text import without_turns
from openslot.i18n.catalogs import get_catalog, read_source
from openslot.i18n.languages import ENGLISH, Language
from openslot.i18n.localization import localize
from openslot.web.assets import assets, static_url
from openslot.web.template_cache import TemplateCache

# Most of what a page shows is one of these, which are the same to every reader.
PLAIN = frozenset({str, Markup, int})


class LanguageTemplates(Environment):
    """The templates of one language."""

    language: Language = ENGLISH

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        translated = _Translator(self.language).visit(source)
        return super()._generate(translated, name, filename, defer_init)


class _Translator(NodeTransformer):
    """Replaces what depends on nothing but the language: `_("…")`, `trans` without a plural, and `static("…")`."""

    def __init__(self, language: Language) -> None:
        self._catalog = get_catalog(language)

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 - the name that Jinja calls
        self.generic_visit(node)
        match node:
            case nodes.Call(node=nodes.Name(name="static"), args=[nodes.Const(value=path)]):
                return nodes.TemplateData(static_url(path))
            case nodes.Call(node=nodes.Name(name="_" | "gettext"), args=[nodes.Const(value=text)]):
                return _fill_in(self._catalog.gettext(text), node.kwargs)
            case nodes.Call(node=nodes.Name(name="_" | "gettext" | "static")):
                raise TypeError(f"line {node.lineno}: a translation or a static file must be one constant")
        return node


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
templates.filters |= {"localized": _localize, "sentence": _sentence, "without_turns": without_turns}


def get_template(name: str, language: Language) -> Template:
    """Return a template in a language."""
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
