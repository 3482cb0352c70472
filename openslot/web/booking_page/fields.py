"""The fields of the booking form; empty ones are the same for everybody, and written once."""

from functools import lru_cache

from markupsafe import Markup

from openslot.event_types.models import Question
from openslot.i18n.languages import Locale
from openslot.routing import Form
from openslot.web.booking_page.forms import BookingForm
from openslot.web.booking_page.picking import Picked
from openslot.web.templating import get_template

Questions = tuple[Question, ...]


def write_fields(form: Form[BookingForm], questions: Questions, locale: Locale, picked: Picked) -> Markup:
    """Write the fields with what was typed and what is wrong with it."""
    if form.faults or any(form.values.values()):
        return _write(form, questions, locale, picked)
    return _write_empty(questions, locale)


@lru_cache(maxsize=256)
def _write_empty(questions: Questions, locale: Locale) -> Markup:
    return _write(Form(), questions, locale, None)


def _write(form: Form[BookingForm], questions: Questions, locale: Locale, picked: Picked | None) -> Markup:
    template = get_template("booking/fields.html", locale.language)
    html = template.render(form=form, questions=questions, locale=locale, picked=picked)
    return Markup(html)  # noqa: S704 - a template escapes
