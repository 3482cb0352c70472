"""What a request may say: read from a form with brackets, checked against the types of Stripe's own library."""

import re
import sys
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, ForwardRef, Literal, NoReturn, get_args, get_origin

import stripe
import typing_extensions
from stripe._request_options import RequestOptions
from stripe.params import billing_portal, checkout

from tests.support.fake_stripe.errors import StripeRefusal

# Options of the library's call, which are headers on the wire.
NOT_SENT = frozenset(RequestOptions.__annotations__)
PART = re.compile(r"\[([^\]]*)\]")
UNWRAPPED = (typing.NotRequired, typing.Required, typing_extensions.NotRequired, typing_extensions.Required)
UNIONS = (typing.Union, type(int | str))
IDS = r"([A-Za-z0-9_]+)"

OPERATIONS: dict[tuple[str, str], Any] = {
    ("POST", "checkout/sessions"): checkout.SessionCreateParams,
    ("GET", "checkout/sessions"): checkout.SessionListParams,
    ("GET", "checkout/sessions/{id}"): checkout.SessionRetrieveParams,
    ("POST", "checkout/sessions/{id}/expire"): checkout.SessionExpireParams,
    ("POST", "refunds"): stripe.params.RefundCreateParams,
    ("GET", "refunds"): stripe.params.RefundListParams,
    ("GET", "refunds/{id}"): stripe.params.RefundRetrieveParams,
    ("GET", "payment_intents"): stripe.params.PaymentIntentListParams,
    ("GET", "payment_intents/{id}"): stripe.params.PaymentIntentRetrieveParams,
    ("GET", "charges/{id}"): stripe.params.ChargeRetrieveParams,
    ("GET", "disputes"): stripe.params.DisputeListParams,
    ("GET", "disputes/{id}"): stripe.params.DisputeRetrieveParams,
    ("GET", "events"): stripe.params.EventListParams,
    ("GET", "events/{id}"): stripe.params.EventRetrieveParams,
    ("POST", "webhook_endpoints"): stripe.params.WebhookEndpointCreateParams,
    ("GET", "webhook_endpoints"): stripe.params.WebhookEndpointListParams,
    ("GET", "webhook_endpoints/{id}"): stripe.params.WebhookEndpointRetrieveParams,
    ("DELETE", "webhook_endpoints/{id}"): stripe.params.WebhookEndpointDeleteParams,
    ("GET", "account"): stripe.params.AccountRetrieveCurrentParams,
    ("POST", "customers"): stripe.params.CustomerCreateParams,
    ("GET", "customers/{id}"): stripe.params.CustomerRetrieveParams,
    ("GET", "prices/{id}"): stripe.params.PriceRetrieveParams,
    ("GET", "subscriptions"): stripe.params.SubscriptionListParams,
    ("GET", "subscriptions/{id}"): stripe.params.SubscriptionRetrieveParams,
    ("POST", "subscriptions/{id}"): stripe.params.SubscriptionUpdateParams,
    ("DELETE", "subscriptions/{id}"): stripe.params.SubscriptionCancelParams,
    ("POST", "billing_portal/sessions"): billing_portal.SessionCreateParams,
}


def read_pairs(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Nest `a[b][0]=c` as `{"a": {"b": {"0": "c"}}}`; lists stay mappings until their type is known."""
    nested: dict[str, Any] = {}
    for name, value in pairs:
        first, _, rest = name.partition("[")
        path = [first, *PART.findall(f"[{rest}" if rest else "")]
        at = nested
        for number, part in enumerate(path[:-1]):
            key = part or str(len(at))
            at = at.setdefault(key, {})
            if not isinstance(at, dict):
                refuse("Invalid parameter", "[".join(path[: number + 1]))
        at[path[-1] or str(len(at))] = value
    return nested


def check(operation: tuple[str, str], sent: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as values of their types, or refuse them as Stripe does."""
    return _read_fields(OPERATIONS[operation], sent, "")


def refuse(message: str, param: str, code: str | None = None) -> NoReturn:
    raise StripeRefusal(400, message, code=code, param=param, is_kept=False)


def _read_fields(kind: Any, sent: dict[str, Any], at: str) -> dict[str, Any]:
    types = _types_of(kind)
    unknown = [name for name in sent if name not in types]
    if unknown:
        param = _join(at, unknown[0])
        refuse(f"Received unknown parameter: {param}", param, "parameter_unknown")
    for name in sorted(kind.__required_keys__ - NOT_SENT - sent.keys()):
        refuse(f"Missing required param: {_join(at, name)}.", _join(at, name), "parameter_missing")
    return {name: _read_value(types[name], value, _join(at, name), kind) for name, value in sent.items()}


@cache
def _types_of(kind: Any) -> dict[str, Any]:
    return {name: given for name, given in kind.__annotations__.items() if name not in NOT_SENT}


def _read_value(type_: Any, value: Any, at: str, kind: Any) -> Any:
    choices = list(_choices(type_, kind))
    if isinstance(value, dict):
        return _read_nested(choices, value, at, kind)
    words = [word for each in choices if get_origin(each) is Literal for word in get_args(each)]
    if any(words):
        # The library allows any other text too, for versions to come; the service does not. An empty word alone is
        # no enumeration: it clears a text.
        if value not in words:
            refuse(f"Invalid {at}: must be one of {', '.join(map(str, words))}", at)
        return value
    if int in choices:
        return _read_int(value, at)
    if bool in choices:
        if value not in {"true", "false"}:
            refuse(f"Invalid boolean: {value}", at)
        return value == "true"
    if str not in choices and float not in choices:
        refuse(f"Invalid {'array' if any(get_origin(each) is list for each in choices) else 'object'}", at)
    return value


def _read_int(value: str, at: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", value):
        refuse(f"Invalid integer: {value}", at, "parameter_invalid_integer")
    return int(value)


def _read_nested(choices: list[Any], value: dict[str, Any], at: str, kind: Any) -> Any:
    for each in choices:
        origin = get_origin(each)
        if origin is list:
            if not all(key.isdigit() for key in value):
                refuse("Invalid array", at)
            ordered = sorted(value.items(), key=lambda item: int(item[0]))
            (of,) = get_args(each)
            return [_read_value(of, item, f"{at}[{key}]", kind) for key, item in ordered]
        if origin is dict:
            return _read_metadata(value, at)
        if hasattr(each, "__required_keys__"):
            return _read_fields(each, value, at)
    return refuse("Invalid string", at)


def _read_metadata(value: dict[str, Any], at: str) -> dict[str, Any]:
    if len(value) > 50 or any(len(key) > 40 or not isinstance(text, str) for key, text in value.items()):
        refuse("Metadata has at most 50 keys of 40 characters, and values of 500.", at)
    if any(len(text) > 500 for text in value.values()):
        refuse("Metadata values can have up to 500 characters.", at)
    return value


def _choices(type_: Any, kind: Any) -> Iterator[Any]:
    """List what a type allows: names are looked up where they are written."""
    if isinstance(type_, str | ForwardRef):
        text = type_ if isinstance(type_, str) else type_.__forward_arg__
        yield from _choices(_evaluate(text, kind.__module__), kind)
    elif get_origin(type_) in UNWRAPPED or get_origin(type_) in UNIONS:
        for each in get_args(type_):
            yield from _choices(each, kind)
    else:
        yield type_


@cache
def _evaluate(text: str, module: str) -> Any:
    # Some are written as `X|str`, which strings as names don't support before they are evaluated.
    return eval(text, {**vars(typing), **vars(typing_extensions), **vars(sys.modules[module])})


def _join(at: str, name: str) -> str:
    return f"{at}[{name}]" if at else name
