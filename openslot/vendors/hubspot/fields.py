"""Which property of a contact in HubSpot gets what: what can be chosen, what was chosen, what the portal refused."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.contacts.models import FIELDS_IN_CRM
from openslot.domains.crm.errors import CrmNotFound
from openslot.domains.crm.models import CrmConnection
from openslot.domains.crm.operations import change_crm_options, list_crm_failures, opened_crm
from openslot.domains.crm.ports import CrmFault
from openslot.domains.crm.words import describe_fault
from openslot.domains.event_types.models import Question
from openslot.domains.event_types.operations import list_event_types
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.vendors.hubspot.vendor import HubSpot, HubSpotOptions, Property

UNREAD = Text("The properties of contacts could not be read from HubSpot: %(reason)s")
NOT_THERE = Text("is not a property of contacts that takes text")
TAKEN = Text("is chosen for another field already")
# How a refusal names properties: `Company Name is required (company)`.
NAMED = re.compile(r"(?:^|; )([^;]*) \(([a-z0-9_, ]+)\)(?=;|$)")
MAX_QUESTIONS = 100
# The page's fields that are not about an answer, by their labels.
OWN_FIELDS = {
    "first_name": Text("First name"),
    "last_name": Text("Last name"),
    **{each.name: each.label for each in FIELDS_IN_CRM},
}


class Refusals(Struct, frozen=True):
    """What the portal has refused lately, and was not tried again."""

    by_property: Mapping[str, str]
    others: tuple[str, ...]
    """The refusals about properties that get nothing, and about meetings."""


async def list_questions(work: Work, owner: User) -> list[Question]:
    """List the questions of a host's event types; those with the same key are one."""
    found, _ = await list_event_types(work, owner, limit=100)
    by_key = {question.key: question for each in reversed(found) for question in each.questions}
    return sorted(by_key.values(), key=lambda each: each.label.casefold())[:MAX_QUESTIONS]


def read_options(connection: CrmConnection) -> HubSpotOptions:
    if connection.vendor != "hubspot":
        raise CrmNotFound
    return msgspec.convert(connection.options, HubSpotOptions)


async def list_properties(work: Work, connection: CrmConnection) -> list[Property]:
    """Ask the portal for the properties of contacts that take text; no transaction may be open."""
    async with opened_crm(work.runtime, connection) as opened:
        if not isinstance(opened, HubSpot):
            raise CrmNotFound
        return await opened.list_properties()


def describe_unread(fault: CrmFault) -> Text:
    return UNREAD.fill(reason=recall(describe_fault(fault)))


async def choose_properties(
    work: Work, owner: User, connection: CrmConnection, options: HubSpotOptions, places: Mapping[str, str]
) -> None:
    """Keep what the owner has chosen if the portal has these properties; `places` are the fields of the answers by key.

    The portal is asked before a transaction is opened here, so the work must begin without one.
    """
    try:
        known = {each.name for each in await list_properties(work, connection)}
    except CrmFault as fault:
        raise Invalid(details={"form": describe_unread(fault)}) from None
    faults = find_faults(known, list_chosen(options, places))
    if faults:
        raise Invalid(details=faults)
    async with work.transaction():
        await change_crm_options(work, owner, connection.id, msgspec.to_builtins(options))


def list_chosen(options: HubSpotOptions, places: Mapping[str, str]) -> list[tuple[str, str]]:
    """List the fields of the page with the property that was chosen for each."""
    own = [(name, getattr(options, name)) for name in OWN_FIELDS]
    return own + [(places[key], name) for key, name in options.answers.items() if key in places]


def find_faults(known: Iterable[str], chosen: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Say at which field a property was chosen that can't be."""
    names, seen, faults = set(known), set[str](), dict[str, str]()
    for place, name in chosen:
        if not name:
            continue
        if name not in names:
            faults[place] = NOT_THERE
        elif name in seen:
            faults[place] = TAKEN
        seen.add(name)
    return faults


async def find_refusals(work: Work, owner: User, connection: CrmConnection, chosen: Iterable[str]) -> Refusals:
    """Read what the portal has refused, each at the property that it is about."""
    used = set(chosen)
    by_property: dict[str, str] = {}
    others: list[str] = []
    for failure in await list_crm_failures(work, owner):
        if failure.connection_id != connection.id:
            continue
        for reason, names in NAMED.findall(failure.reason):
            places = used.intersection(names.split(", "))
            by_property |= {name: reason for name in places if name not in by_property}
            if not places:
                others.append(f"{reason} ({names})")
    return Refusals(by_property, tuple(dict.fromkeys(others)))
