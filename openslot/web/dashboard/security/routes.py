"""All pages of the security settings."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.security.codes import ask_to_renew_codes, renew_codes
from openslot.web.dashboard.security.overview import show_security
from openslot.web.dashboard.security.provider import ask_to_disconnect, begin_to_connect, disconnect_provider
from openslot.web.dashboard.security.setup import begin_two_factor, confirm_two_factor, show_two_factor_setup
from openslot.web.dashboard.security.turning_off import ask_to_turn_off, turn_two_factor_off

SECURITY: list[HandlerFunction] = [
    show_security,
    begin_two_factor,
    show_two_factor_setup,
    confirm_two_factor,
    ask_to_renew_codes,
    renew_codes,
    ask_to_turn_off,
    turn_two_factor_off,
    begin_to_connect,
    ask_to_disconnect,
    disconnect_provider,
]
