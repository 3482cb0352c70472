"""Links with a former username lead to the same page under the current one."""

from functools import wraps
from urllib.parse import quote

from openslot.accounts.former_usernames import find_current_username
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.routing import Request, Response
from openslot.web.booking_page.for_assistants import HEADERS
from openslot.web.booking_page.formats import Format, choose_format
from openslot.web.booking_page.refusing import Show
from openslot.web.pages import NOT_KEPT

# Only for a time, because the owner may take the name back; a form is sent again as it is.
MOVED = 307
IN_QUERY = "%!$&'()*+,;=:@/?-._~"


def follow_former(handler: Show) -> Show:
    """Redirect to the current username if a handler finds nothing and its path begins with a former one."""

    @wraps(handler)
    async def show_or_redirect(*, work: Work, request: Request, username: str, **values: object) -> Response:
        try:
            answer = await handler(work=work, request=request, username=username, **values)
        except NotFound:
            moved = await _find_moved(work, request, username)
            if moved is None:
                raise
            return moved
        # Assistants get the refusal as an answer.
        return answer if answer.status != 404 else await _find_moved(work, request, username) or answer

    return show_or_redirect


async def _find_moved(work: Work, request: Request, username: str) -> Response | None:
    wanted = choose_format(request)
    former = username.removesuffix(wanted.suffix)
    current = await find_current_username(work, former)
    if current is None:
        return None
    path = quote(f"/{current}{request.path[len(former) + 1 :]}")
    query = quote(request.query_string, safe=IN_QUERY)
    headers = NOT_KEPT if wanted is Format.HTML else {**HEADERS, **NOT_KEPT}
    return Response(status=MOVED, headers={**headers, "location": f"{path}?{query}" if query else path})
