"""Stripe's REST API over an account's books: who asks, what they may, what they get."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import stripe
from msgspec import Struct

from tests.support.fake_server import Answer, Request
from tests.support.fake_stripe import billing, parameters
from tests.support.fake_stripe.books import API_VERSION, Books, Object
from tests.support.fake_stripe.errors import StripeRefusal, missing
from tests.support.fake_stripe.idempotency import KeptAnswers
from tests.support.fake_stripe.objects import make, make_list

EVENTS_KEPT_FOR = 30 * 24 * 3600
DEEPEST_EXPANSION = 4
# The right by which a restricted key reads or writes at a path; to write includes to read.
RIGHTS = {
    "account": "accounts_kyc_basic",
    "billing_portal": "customer_portal",
    "charges": "charge",
    "checkout": "checkout_session",
    "customers": "customer",
    "disputes": "dispute",
    "events": "event",
    "payment_intents": "payment_intent",
    "prices": "plan",
    "refunds": "charge",
    "subscriptions": "subscription",
    "webhook_endpoints": "webhook",
}
EXPANDABLE = {
    "charge": "charge",
    "customer": "customer",
    "latest_charge": "charge",
    "payment_intent": "payment_intent",
    "subscription": "subscription",
}
KINDS = {
    "charges": "charge",
    "checkout/sessions": "checkout.session",
    "customers": "customer",
    "disputes": "dispute",
    "events": "event",
    "payment_intents": "payment_intent",
    "prices": "price",
    "refunds": "refund",
    "subscriptions": "subscription",
    "webhook_endpoints": "webhook_endpoint",
}
# By what each list can be narrowed, besides its pages and `created`.
FILTERS = ("payment_intent", "charge", "customer", "subscription", "status")


class Key(Struct, frozen=True):
    books: Books
    rights: frozenset[str] | None = None
    """Such as `charge_write`; None is everything."""

    def may(self, right: str) -> bool:
        """Tell whether the key has the right, or the larger one that includes it."""
        wanted = {right, right.replace("_read", "_write")}
        return self.rights is None or bool(wanted & self.rights)


class Api:
    """Answers requests with the keys that it knows."""

    def __init__(self) -> None:
        self.keys: dict[str, Key] = {}
        self.asked: list[Request] = []
        self._kept: dict[str, KeptAnswers] = {}

    def begin(self, request: Request) -> "Call | Answer":
        """Check a request; what it gives is either the answer or what is still to do."""
        self.asked.append(request)
        try:
            return self._check(request)
        except StripeRefusal as refusal:
            return write(refusal.status, refusal.body, refusal.headers)

    def _check(self, request: Request) -> "Call | Answer":
        key = self._authenticate(request)
        operation, id_ = _find_operation(request)
        right = f"{RIGHTS[operation[1].partition('/')[0]]}_{'read' if request.method == 'GET' else 'write'}"
        _demand(key, right, request.key)
        sent = parameters.check(operation, parameters.read_pairs(request.pairs))
        kept = self._kept.setdefault(f"{key.books.account_id} {key.books.mode}", KeptAnswers())
        name = request.headers.get("idempotency-key") if request.method == "POST" else None
        if name is not None:
            answer = kept.begin(name, request.method, request.place, sent, now=key.books.now)
            if answer is not None:
                return answer
        return Call(request, key, operation, id_, sent, name, kept)

    def _authenticate(self, request: Request) -> Key:
        if request.headers.get("stripe-version", API_VERSION) != API_VERSION:
            raise StripeRefusal(400, f"Invalid Stripe API version: {request.headers['stripe-version']}", is_kept=False)
        key = self.keys.get(request.key)
        if key is None:
            shown = f"{request.key[:8]}{'*' * 8}{request.key[-4:]}"
            raise StripeRefusal(401, f"Invalid API Key provided: {shown}", is_kept=False)
        return key


class Call:
    """A request that was understood: it is carried out once."""

    def __init__(
        self,
        request: Request,
        key: Key,
        operation: tuple[str, str],
        id_: str,
        sent: Object,
        name: str | None,
        kept: KeptAnswers,
    ) -> None:
        self.request, self.key, self.operation, self.id, self.sent = request, key, operation, id_, sent
        self._name, self._kept = name, kept

    def carry_out(self, broken: Answer | None = None) -> Answer:
        """Do it, and keep the answer for its idempotency key; a broken answer is kept in place of the right one."""
        answer, is_kept = self._run()
        if broken is not None:
            answer, is_kept = broken, True
        if self._name is not None:
            self._kept.end(self._name, answer if is_kept else None)
        return answer

    def forget(self) -> None:
        """Do nothing: the request never began."""
        if self._name is not None:
            self._kept.end(self._name, None)

    def _run(self) -> tuple[Answer, bool]:
        self.key.books.let_time_pass()
        try:
            return write(200, self._expand(handle(self.key.books, self.operation, self.id, self.sent))), True
        except StripeRefusal as refusal:
            return write(refusal.status, refusal.body, refusal.headers), refusal.is_kept

    def _expand(self, found: Object) -> Object:
        shown: Object = json.loads(json.dumps(found))
        for path in self.sent.get("expand", ()):
            steps = path.split(".")
            if len(steps) > DEEPEST_EXPANSION:
                raise StripeRefusal(400, f"You cannot expand more than 4 levels: {path}", param="expand", is_kept=False)
            self._expand_at(shown, steps, path)
        return shown

    def _expand_at(self, shown: Object, steps: list[str], path: str) -> None:
        step, rest = steps[0], steps[1:]
        if step == "data" and shown.get("object") == "list":
            for each in shown["data"]:
                self._expand_at(each, rest, path)
            return
        if step not in EXPANDABLE or step not in shown:
            raise StripeRefusal(400, f"This property cannot be expanded ({path}).", param="expand", is_kept=False)
        _demand(self.key, f"{EXPANDABLE[step]}_read", self.request.key)
        if isinstance(shown[step], str):
            shown[step] = json.loads(json.dumps(self.key.books.objects[shown[step]]))
        if rest and shown[step] is not None:
            self._expand_at(shown[step], rest, path)


def write(status: int, body: Object, headers: dict[str, str] | None = None) -> Answer:
    content = json.dumps(body, indent=2).encode()
    return Answer(status, content, {"Content-Type": "application/json", "Request-Id": "req_fake", **(headers or {})})


def _demand(key: Key, right: str, secret: str) -> None:
    if key.may(right):
        return
    shown = f"{secret[:8]}{'*' * 20}{secret[-6:]}"
    raise StripeRefusal(
        403,
        f"The provided key '{shown}' does not have the required permissions for this endpoint on account "
        f"'{key.books.account_id}'. Having the 'rak_{right}' permission would allow this request to continue.",
        is_kept=False,
    )


def _find_operation(request: Request) -> tuple[tuple[str, str], str]:
    for method, path in parameters.OPERATIONS:
        found = re.fullmatch(re.escape(path).replace(r"\{id\}", parameters.IDS), request.place)
        if found and method == request.method:
            return (method, path), found[1] if found.groups() else ""
    raise StripeRefusal(404, f"Unrecognized request URL ({request.method}: /v1/{request.place}).", is_kept=False)


def handle(books: Books, operation: tuple[str, str], id_: str, sent: Object) -> Object:
    """Carry out one operation."""
    verbs: dict[tuple[str, str], Callable[[], Object]] = {
        ("POST", "checkout/sessions"): lambda: books.create_session(sent),
        ("POST", "checkout/sessions/{id}/expire"): lambda: books.expire(id_),
        ("POST", "refunds"): lambda: _refund(books, sent),
        ("POST", "webhook_endpoints"): lambda: create_endpoint(books, sent),
        ("DELETE", "webhook_endpoints/{id}"): lambda: _delete_endpoint(books, id_),
        ("GET", "account"): lambda: _show_account(books),
        ("POST", "customers"): lambda: billing.create_customer(books, sent),
        ("POST", "subscriptions/{id}"): lambda: billing.update(books, id_, sent),
        ("DELETE", "subscriptions/{id}"): lambda: billing.cancel(books, id_),
        ("POST", "billing_portal/sessions"): lambda: billing.open_portal(books, sent),
    }
    if operation in verbs:
        return verbs[operation]()
    kind = KINDS[operation[1].removesuffix("/{id}")]
    return books.get(kind, id_) if operation[1].endswith("{id}") else _list(books, operation[1], kind, sent)


def _list(books: Books, path: str, kind: str, sent: Object) -> Object:
    """List objects, the newest first, page by page."""
    found = [each for each in reversed(books.list(kind)) if _is_wanted(books, each, sent)]
    limit = sent.get("limit", 10)
    if not 1 <= limit <= 100:
        raise StripeRefusal(400, "limit is 1 to 100.", param="limit", is_kept=False)
    ids = [each["id"] for each in found]
    if (after := sent.get("starting_after")) is not None:
        start = _find(ids, after, kind, "starting_after") + 1
        return make_list(f"/v1/{path}", found[start : start + limit], has_more=len(found) > start + limit)
    if (before := sent.get("ending_before")) is not None:
        end = _find(ids, before, kind, "ending_before")
        return make_list(f"/v1/{path}", found[max(end - limit, 0) : end], has_more=end > limit)
    return make_list(f"/v1/{path}", found[:limit], has_more=len(found) > limit)


def _find(ids: list[str], id_: str, kind: str, param: str) -> int:
    if id_ not in ids:
        raise missing(kind, id_, param, status=400)
    return ids.index(id_)


def _is_wanted(books: Books, each: Object, sent: Object) -> bool:
    return all(_conditions(books, each, sent))


def _conditions(books: Books, each: Object, sent: Object) -> Iterator[bool]:
    if each["object"] == "event":
        yield each["created"] > books.now - EVENTS_KEPT_FOR
        yield "types" not in sent or each["type"] in sent["types"]
        yield "type" not in sent or each["type"] == sent["type"]
    for name in FILTERS:
        if name in sent and (name, sent[name]) != ("status", "all"):
            yield each.get(name) == sent[name]
    if each["object"] == "subscription" and "status" not in sent:
        yield each["status"] != "canceled"
    created: Any = sent.get("created", {})
    if isinstance(created, int):
        yield each["created"] == created
        return
    yield each["created"] >= created.get("gte", 0)
    yield each["created"] > created.get("gt", -1)
    yield "lte" not in created or each["created"] <= created["lte"]
    yield "lt" not in created or each["created"] < created["lt"]


def _refund(books: Books, sent: Object) -> Object:
    if "payment_intent" not in sent:
        raise StripeRefusal(400, "One of `charge` or `payment_intent` is needed.", is_kept=False)
    return books.refund(sent["payment_intent"], sent.get("amount"), sent=sent)


def create_endpoint(books: Books, sent: Object, *, is_checked: bool = True) -> Object:
    """Register an endpoint; its secret is told this once."""
    if is_checked and not sent["url"].startswith("https://"):
        raise StripeRefusal(400, "Invalid URL: must begin with https.", code="url_invalid", param="url", is_kept=False)
    endpoint = books.add(
        stripe.WebhookEndpoint,
        "we",
        api_version=sent.get("api_version"),
        description=sent.get("description"),
        enabled_events=sent["enabled_events"],
        status="enabled",
        url=sent["url"],
    )
    books.secrets[endpoint["id"]] = f"whsec_{endpoint['id'][-12:]}secret"
    return {**endpoint, "secret": books.secrets[endpoint["id"]]}


def _delete_endpoint(books: Books, id_: str) -> Object:
    books.get("webhook_endpoint", id_, "webhook_endpoint")
    del books.objects[id_]
    return {"id": id_, "object": "webhook_endpoint", "deleted": True}


def _show_account(books: Books) -> Object:
    dashboard = {"display_name": books.name, "timezone": "Etc/UTC"}
    return {**make(stripe.Account, id=books.account_id), "settings": {"dashboard": dashboard}}
