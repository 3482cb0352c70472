"""One account's objects in one mode, and everything that can become of them."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import stripe
from stripe.checkout import Session

from openslot.platform.core.work import Clock
from tests.support.fake_stripe.errors import StripeRefusal, missing
from tests.support.fake_stripe.objects import make

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
API_VERSION = stripe.api_version
Object = dict[str, Any]


class Books:
    """What Stripe keeps for an account; a test pays, refunds and disputes here as people do in browsers."""

    def __init__(self, clock: Clock, *, name: str, number: int, livemode: bool, emitted: Callable[..., None]) -> None:
        self.clock = clock
        self.name = name
        self.livemode = livemode
        self.account_id = f"acct_{number:016d}"
        self.mode = "live" if livemode else "test"
        self.key = f"rk_{self.mode}_{number:08d}everything"
        self.site = ""
        """Where the fake listens, for the address of the checkout."""
        self.refunds_begin = "succeeded"
        """The status of a new refund: `succeeded` at once, as with cards, or `pending`."""
        self.objects: dict[str, Object] = {}
        """By id, in the order in which they were made."""
        self.secrets: dict[str, str] = {}
        """Of notice endpoints."""
        self.sent: dict[str, Object] = {}
        """The parameters with which each session was made."""
        self._emitted = emitted
        self._number = number * 1_000_000

    @property
    def now(self) -> int:
        return int(self.clock().timestamp())

    def list(self, kind: str) -> list[Object]:
        """List the objects of a kind, oldest first."""
        return [each for each in self.objects.values() if each["object"] == kind]

    def get(self, kind: str, id_: str, param: str = "id") -> Object:
        found = self.objects.get(id_)
        if found is None or found["object"] != kind:
            raise missing(kind.replace("_", " "), id_, param)
        return found

    def new_id(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}_{self._number:024d}"

    def add(self, kind: type[stripe.StripeObject], prefix: str, **fields: Any) -> Object:
        made = make(kind, id=self.new_id(prefix), created=self.now, **fields)
        if "livemode" in made:
            made["livemode"] = self.livemode
        self.objects[made["id"]] = made
        return made

    def emit(self, type_: str, subject: Object, **previous: Any) -> None:
        """Record an event with the object as it is now."""
        data: Object = {"object": deepcopy(subject)}
        if previous:
            data["previous_attributes"] = previous
        request = {"id": None, "idempotency_key": None}
        event = self.add(
            stripe.Event, "evt", type=type_, data=data, api_version=API_VERSION, pending_webhooks=0, request=request
        )
        self._emitted(self, event)

    def change(self, subject: Object, event: str | None = None, **changes: Any) -> None:
        previous = {name: subject[name] for name in changes}
        subject.update(changes)
        if event is not None:
            self.emit(event, subject, **previous)

    def let_time_pass(self) -> None:
        """Do what is due by the clock: open sessions expire."""
        for session in self.list("checkout.session"):
            if session["status"] == "open" and session["expires_at"] <= self.now:
                self._expire(session)

    def create_session(self, sent: Object) -> Object:
        expires_at = sent.get("expires_at", self.now + DAY)
        if not self.now + 30 * MINUTE <= expires_at <= self.now + DAY:
            raise StripeRefusal(
                400,
                "The `expires_at` timestamp must be at least 30 minutes and less than 24 hours from Checkout Session "
                "creation.",
                param="expires_at",
                is_kept=False,
            )
        if sent.get("customer") is not None:
            self.get("customer", sent["customer"], "customer")
        currency, total = self._add_up(sent)
        session = self.add(
            Session,
            f"cs_{self.mode}",
            mode=sent["mode"],
            status="open",
            payment_status="unpaid",
            amount_subtotal=total,
            amount_total=total,
            currency=currency,
            expires_at=expires_at,
            ui_mode="hosted_page",
            payment_method_types=sent.get("allowed_payment_method_types", ["card"]),
            **{
                name: sent.get(name)
                for name in (
                    "allowed_payment_method_types",
                    "cancel_url",
                    "client_reference_id",
                    "customer",
                    "customer_email",
                    "locale",
                    "submit_type",
                    "success_url",
                )
            },
            metadata=sent.get("metadata", {}),
        )
        session["url"] = f"{self.site}/c/pay/{session['id']}"
        self.sent[session["id"]] = sent
        return session

    def _add_up(self, sent: Object) -> tuple[str, int]:
        if "mode" not in sent:
            raise StripeRefusal(400, "Missing required param: mode.", code="parameter_missing", is_kept=False)
        if not sent.get("line_items") or "success_url" not in sent:
            raise StripeRefusal(400, "line_items and success_url are needed.", code="parameter_missing", is_kept=False)
        if sent["mode"] == "payment" and "subscription_data" in sent:
            raise StripeRefusal(400, "`subscription_data` needs `subscription` mode.", is_kept=False)
        total, currency = 0, ""
        for item in sent["line_items"]:
            price = item.get("price_data")
            if price is None:
                kept = self.get("price", item.get("price", ""), "line_items[0][price]")
                price = {"currency": kept["currency"], "unit_amount": kept["unit_amount"]}
            currency = price["currency"]
            total += price["unit_amount"] * item.get("quantity", 1)
        if currency != currency.lower() or len(currency) != 3:
            raise StripeRefusal(400, f"Invalid currency: {currency}.", param="line_items[0][price_data][currency]")
        if total < (1 if currency == "jpy" else 50):
            raise StripeRefusal(400, "The amount due is too small.", code="amount_too_small")
        return currency, total

    def expire(self, session_id: str) -> Object:
        """Expire a session on request."""
        session = self.get("checkout.session", session_id, "session")
        if session["status"] != "open":
            raise StripeRefusal(
                400,
                'Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status '
                f"of `{session['status']}`.",
            )
        self._expire(session)
        return session

    def _expire(self, session: Object) -> None:
        self.change(session, status="expired", url=None)
        self.emit("checkout.session.expired", session)

    def get_open(self, session_id: str) -> Object:
        """Return a session that can be paid; nobody can pay another one."""
        self.let_time_pass()
        session = self.get("checkout.session", session_id, "session")
        if session["status"] != "open":
            raise StripeRefusal(400, f"This Checkout Session is {session['status']}.")
        return session

    def decline(self, session_id: str) -> None:
        """Let the payer's bank refuse the card; the session stays open."""
        session = self.get_open(session_id)
        intent = self._begin(session)
        self.change(intent, status="requires_payment_method")
        self.emit("payment_intent.payment_failed", intent)

    def pay(self, session_id: str) -> Object:
        """Let the payer pay by card."""
        session = self.get_open(session_id)
        intent = self._begin(session)
        self._charge(session, intent, is_paid=True)
        self._finish(session, intent, payment_status="paid")
        return session

    def pay_later(self, session_id: str) -> Object:
        """Let the payer choose a delayed method: the form is finished, the money is not there."""
        session = self.get_open(session_id)
        intent = self._begin(session)
        self._charge(session, intent, is_paid=False)
        self._finish(session, intent, payment_status="unpaid")
        return session

    def money_arrives(self, session_id: str) -> None:
        """Let the money of a delayed method come."""
        session = self.get("checkout.session", session_id)
        intent = self.objects[session["payment_intent"]]
        charge = self.objects[intent["latest_charge"]]
        charge.update(status="succeeded", paid=True, captured=True, amount_captured=charge["amount"])
        self.change(intent, status="succeeded", amount_received=intent["amount"])
        self.change(session, payment_status="paid")
        self.emit("charge.succeeded", charge)
        self.emit("checkout.session.async_payment_succeeded", session)

    def money_fails(self, session_id: str) -> None:
        """Let the money of a delayed method never come."""
        session = self.get("checkout.session", session_id)
        intent = self.objects[session["payment_intent"]]
        self.objects[intent["latest_charge"]].update(status="failed")
        self.change(intent, status="requires_payment_method")
        self.emit("checkout.session.async_payment_failed", session)

    def _begin(self, session: Object) -> Object:
        if session["payment_intent"] is not None:
            return self.objects[session["payment_intent"]]
        about = self.sent[session["id"]].get("payment_intent_data", {})
        intent = self.add(
            stripe.PaymentIntent,
            "pi",
            amount=session["amount_total"],
            currency=session["currency"],
            capture_method="automatic_async",
            confirmation_method="automatic",
            status="requires_payment_method",
            description=about.get("description"),
            metadata=about.get("metadata", {}),
        )
        session["payment_intent"] = intent["id"]
        self.emit("payment_intent.created", intent)
        return intent

    def _charge(self, session: Object, intent: Object, *, is_paid: bool) -> None:
        amount = intent["amount"]
        charge = self.add(
            stripe.Charge,
            "ch",
            amount=amount,
            amount_captured=amount if is_paid else 0,
            captured=is_paid,
            currency=intent["currency"],
            description=intent["description"],
            metadata=intent["metadata"],
            paid=is_paid,
            payment_intent=intent["id"],
            status="succeeded" if is_paid else "pending",
        )
        charge["receipt_url"] = f"{self.site}/receipts/{charge['id']}"
        self.change(
            intent,
            status="succeeded" if is_paid else "processing",
            amount_received=amount if is_paid else 0,
            latest_charge=charge["id"],
        )
        if is_paid:
            self.emit("charge.succeeded", charge)
            self.emit("payment_intent.succeeded", intent)

    def _finish(self, session: Object, intent: Object, *, payment_status: str) -> None:
        email = session["customer_email"] or "payer@example.com"
        details = make(Session.CustomerDetails, email=email)
        self.change(session, status="complete", payment_status=payment_status, url=None, customer_details=details)
        self.emit("checkout.session.completed", session)

    def refund(self, intent_id: str, amount: int | None = None, *, sent: Object | None = None) -> Object:
        """Give money back, on request or by hand in Stripe's own pages."""
        intent = self.get("payment_intent", intent_id, "payment_intent")
        charge = self.objects.get(intent["latest_charge"] or "")
        if charge is None or not charge["paid"]:
            raise StripeRefusal(400, f"This PaymentIntent ({intent_id}) does not have a successful charge to refund.")
        rest = charge["amount"] - charge["amount_refunded"]
        if rest == 0:
            raise StripeRefusal(
                400, f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded"
            )
        if amount is not None and not 0 < amount <= rest:
            raise StripeRefusal(
                400, f"Refund amount ({amount}) is greater than unrefunded amount ({rest})", param="amount"
            )
        if any(each["status"] == "lost" for each in self.list("dispute") if each["charge"] == charge["id"]):
            raise StripeRefusal(400, f"Charge {charge['id']} has been charged back.", code="charge_disputed")
        refund = self.add(
            stripe.Refund,
            "re",
            amount=amount or rest,
            charge=charge["id"],
            currency=charge["currency"],
            payment_intent=intent_id,
            status=self.refunds_begin,
            reason=(sent or {}).get("reason"),
            metadata=(sent or {}).get("metadata", {}),
        )
        self._count_refunds(charge)
        self.emit("refund.created", refund)
        self.emit("charge.refunded", charge)
        return refund

    def settle_refund(self, refund_id: str) -> None:
        """Let a pending refund succeed."""
        self.change(self.get("refund", refund_id), "refund.updated", status="succeeded")

    def fail_refund(self, refund_id: str, reason: str = "lost_or_stolen_card") -> None:
        """Let a refund fail, even one that had succeeded: its money comes back to the account."""
        refund = self.get("refund", refund_id)
        self.change(refund, "refund.updated", status="failed", failure_reason=reason)
        self._count_refunds(self.objects[refund["charge"]])
        self.emit("refund.failed", refund)

    def _count_refunds(self, charge: Object) -> None:
        kept = [each for each in self.list("refund") if each["charge"] == charge["id"]]
        total = sum(each["amount"] for each in kept if each["status"] not in {"failed", "canceled"})
        charge.update(amount_refunded=total, refunded=total == charge["amount"])

    def dispute(self, intent_id: str, *, reason: str = "fraudulent") -> Object:
        """Let the payer's bank take the money back."""
        intent = self.get("payment_intent", intent_id)
        charge = self.objects[intent["latest_charge"]]
        due = make(
            stripe.Dispute.EvidenceDetails,
            due_by=self.now + 7 * DAY,
            submission_method="manual",
            enhanced_eligibility=make(stripe.Dispute.EvidenceDetails.EnhancedEligibility),
        )
        dispute = self.add(
            stripe.Dispute,
            "du",
            amount=charge["amount"],
            charge=charge["id"],
            currency=charge["currency"],
            evidence_details=due,
            payment_intent=intent_id,
            reason=reason,
            status="needs_response",
        )
        charge["disputed"] = True
        self.emit("charge.dispute.created", dispute)
        self.emit("charge.dispute.funds_withdrawn", dispute)
        return dispute

    def close_dispute(self, dispute_id: str, *, is_won: bool) -> None:
        dispute = self.get("dispute", dispute_id)
        self.change(dispute, "charge.dispute.closed", status="won" if is_won else "lost")
        if is_won:
            self.emit("charge.dispute.funds_reinstated", dispute)
