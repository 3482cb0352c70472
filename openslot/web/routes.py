"""All pages, by path."""

from litestar import Router

from openslot.core.errors import Unauthorized
from openslot.web.account import change_password, show_account
from openslot.web.api_docs.page import show_api_docs
from openslot.web.api_keys import ask_to_revoke, make_key, revoke_key, show_keys
from openslot.web.door import ask_to_sign_in, check_same_origin
from openslot.web.setup import set_up, show_setup
from openslot.web.sign_in import log_in, log_out, show_login, start
from openslot.web.static_files import favicon, robots, static_file

pages_router = Router(
    "/",
    route_handlers=[
        start,
        show_login,
        log_in,
        log_out,
        show_account,
        change_password,
        show_keys,
        make_key,
        ask_to_revoke,
        revoke_key,
        show_setup,
        set_up,
        show_api_docs,
        static_file,
        favicon,
        robots,
    ],
    guards=[check_same_origin],
    exception_handlers={Unauthorized: ask_to_sign_in},
    include_in_schema=False,
)
