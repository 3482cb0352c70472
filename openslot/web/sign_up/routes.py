"""All pages to sign up, to choose a new password, and to see where one is signed in."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.sign_up.passwords import ask_for_reset, reset_password, show_forgot, show_reset
from openslot.web.sign_up.sessions import end_other_sessions, end_session, show_sessions
from openslot.web.sign_up.sign_up import show_sign_up, show_verify, sign_up, verify

SIGN_UP: list[HandlerFunction] = [
    show_forgot,
    ask_for_reset,
    show_reset,
    reset_password,
    show_sign_up,
    sign_up,
    show_verify,
    verify,
    show_sessions,
    end_other_sessions,
    end_session,
]
