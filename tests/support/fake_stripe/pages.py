"""What payers see: a checkout as a small page with forms, without scripts."""

from html import escape
from urllib.parse import parse_qs

from tests.support.fake_server import Answer
from tests.support.fake_stripe import billing
from tests.support.fake_stripe.books import Books, Object
from tests.support.fake_stripe.errors import StripeRefusal

BUTTONS = {"pay": "Pay", "decline": "Pay with a card that is declined", "later": "Pay by bank debit"}
DECLINED = "Your card was declined."


def show_checkout(books: Books, session_id: str, *, problem: str = "") -> Answer:
    """Show what is to be paid, or that it is too late."""
    books.let_time_pass()
    session = books.get("checkout.session", session_id)
    if session["status"] != "open":
        return _page("Checkout", "<h1>You're all done here</h1><p>The session has been completed or has expired.</p>")
    item = books.sent[session_id]["line_items"][0]
    name = item.get("price_data", {}).get("product_data", {}).get("name", item.get("price", ""))
    problem = f'<p role="alert">{escape(problem)}</p>' if problem else ""
    back = f'<p><a href="{escape(session["cancel_url"])}">Back</a></p>' if session["cancel_url"] else ""
    buttons = "".join(f'<button name="action" value="{each}">{text}</button> ' for each, text in BUTTONS.items())
    return _page(
        "Checkout",
        f"<h1>{escape(name)}</h1>{problem}<p>{session['amount_total']} {session['currency'].upper()}</p>"
        f"<p>{escape(session['customer_email'] or '')}</p><form method=post>{buttons}</form>{back}",
    )


def take_checkout(books: Books, session_id: str, body: str) -> Answer:
    """Do what the payer has chosen, and send them back."""
    session = books.get("checkout.session", session_id)
    action = parse_qs(body).get("action", [""])[0]
    try:
        if action == "decline":
            books.decline(session_id)
            return show_checkout(books, session_id, problem=DECLINED)
        if session["mode"] == "subscription":
            billing.subscribe(books, session_id)
        elif action == "later":
            books.pay_later(session_id)
        else:
            books.pay(session_id)
    except StripeRefusal:
        return show_checkout(books, session_id)
    return _go(session["success_url"].replace("{CHECKOUT_SESSION_ID}", session_id))


def show_portal(books: Books, portal_id: str) -> Answer:
    """Show the billing portal: cancel at the end of the period, or go back."""
    portal = books.get("billing_portal.session", portal_id)
    back = escape(portal["return_url"] or "/")
    button = '<form method=post><button name="action" value="cancel">Cancel plan</button></form>'
    return _page("Billing", f'<h1>Billing</h1>{button}<p><a href="{back}">Return</a></p>')


def take_portal(books: Books, portal_id: str) -> Answer:
    portal = books.get("billing_portal.session", portal_id)
    for subscription in _list_active(books, portal["customer"]):
        billing.update(books, subscription["id"], {"cancel_at_period_end": True})
    return _go(portal["return_url"] or "/")


def _list_active(books: Books, customer: str) -> list[Object]:
    return [
        each for each in books.list("subscription") if each["customer"] == customer and each["status"] != "canceled"
    ]


def _page(title: str, body: str) -> Answer:
    text = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><main>{body}</main></html>"
    return Answer(200, text.encode(), {"Content-Type": "text/html; charset=utf-8"})


def _go(url: str) -> Answer:
    return Answer(303, b"", {"Location": url})
