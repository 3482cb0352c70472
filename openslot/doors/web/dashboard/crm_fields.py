"""Page: which property of a contact in HubSpot gets what a booking tells of a person."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.crm.operations import get_crm_connection
from openslot.domains.crm.ports import CrmFault
from openslot.domains.event_types.models import Question
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.shapes import with_fields
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, RateLimit, Response, get, post
from openslot.vendors.hubspot.fields import (
    MAX_QUESTIONS,
    OWN_FIELDS,
    choose_properties,
    describe_unread,
    find_refusals,
    list_chosen,
    list_properties,
    list_questions,
    read_options,
)
from openslot.vendors.hubspot.vendor import HubSpotOptions, MovedOutcome, Property

HERE = "/settings/crm"
# Each view asks the portal for its properties.
VIEWS = RateLimit("crm-fields", 60)
NOTICES = {"saved": Text("Saved. Your choices apply from the next booking on.")}
OUTCOMES = ((MovedOutcome.SCHEDULED, Text("Scheduled")), (MovedOutcome.RESCHEDULED, Text("Rescheduled")))
MAX_OFFERED = 400

PropertyName = Annotated[str, Meta(pattern=LINE, max_length=100)]


class AnswerField(Struct, frozen=True, kw_only=True):
    key: Annotated[str, Meta(pattern=LINE, max_length=100)]
    property: PropertyName = ""


@with_fields((name, PropertyName, "") for name in OWN_FIELDS)
class FieldsForm(Struct, frozen=True, kw_only=True):
    moved: MovedOutcome = MovedOutcome.SCHEDULED
    answers: Annotated[list[AnswerField], Meta(max_length=MAX_QUESTIONS)] = []

    @property
    def options(self) -> HubSpotOptions:
        own = {name: getattr(self, name).strip() for name in OWN_FIELDS}
        answers = {each.key: each.property.strip() for each in self.answers if each.property.strip()}
        return HubSpotOptions(**own, answers=answers, moved=self.moved)

    @property
    def places(self) -> dict[str, str]:
        return {each.key: place_of(number) for number, each in enumerate(self.answers)}


class ShownField(Struct, frozen=True, kw_only=True):
    name: str
    label: str
    value: str
    known_as: str | None
    """The portal's own name of the property."""
    refusal: str | None
    key: str | None = None
    """The key of the question, if it is an answer."""


@get("/settings/crm/{connection_id}/fields", limit=VIEWS)
async def show_fields(work: Work, user: User, connection_id: UUID, form: Form[FieldsForm] = Form()) -> Response:
    connection = await get_crm_connection(work, user, connection_id)
    options = read_options(connection)
    questions = await list_questions(work, user)
    properties: Sequence[Property] = ()
    fault = None
    try:
        properties = await list_properties(work, connection)
    except CrmFault as unread:
        fault = describe_unread(unread)
    filled = form.begin(_fill_in(options, questions))
    places = {each.key: place_of(number) for number, each in enumerate(questions)}
    chosen = dict(list_chosen(options, places))
    refusals = await find_refusals(work, user, connection, chosen.values())
    labels = {each.name: each.label for each in properties}

    def show(name: str, label: str, key: str | None = None) -> ShownField:
        refusal = refusals.by_property.get(chosen.get(name, ""))
        value = filled[name]
        return ShownField(name=name, label=label, value=value, known_as=labels.get(value), refusal=refusal, key=key)

    return page(
        "dashboard/crm/fields.html",
        user,
        here=HERE,
        notices=NOTICES,
        form=filled,
        connection=connection,
        own=[show(name, label) for name, label in OWN_FIELDS.items()],
        answers=[show(places[each.key], each.label, each.key) for each in questions],
        outcomes=OUTCOMES,
        offered=properties[:MAX_OFFERED],
        others=refusals.others,
        fault=fault,
    )


@post("/settings/crm/{connection_id}/fields", transaction="none", limit=VIEWS, shows=show_fields)
async def save_fields(work: Work, user: User, connection_id: UUID, form: Form[FieldsForm]) -> Response:
    connection = await get_crm_connection(work, user, connection_id)
    read_options(connection)
    sent = form.get()
    await choose_properties(work, user, connection, sent.options, sent.places)
    return redirect(f"{HERE}/{connection_id}/fields?done=saved")


def place_of(number: int) -> str:
    return f"answers.{number}.property"


def _fill_in(options: HubSpotOptions, questions: Sequence[Question]) -> dict[str, str]:
    own = {name: getattr(options, name) for name in OWN_FIELDS}
    answers = {place_of(number): options.answers.get(each.key, "") for number, each in enumerate(questions)}
    return {**own, **answers, "moved": options.moved}
