"""Pages: the way in and the way out."""

import re

from litestar import Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency

from openslot.access import operations as access
from openslot.access.door import counting_wrong_passwords
from openslot.access.errors import WrongSignIn
from openslot.core.work import Work
from openslot.http.doors import visit_of
from openslot.web.door import COOKIE
from openslot.web.forms import EMPTY, Field, Form, read_form
from openslot.web.pages import PageRequest, page, query_of, redirect

HOME = "/account"
# A path of ours, visible ASCII alone: `//` and `/\` would lead a browser to another host.
LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,1000}")
FIELDS = (
    Field("email", 254, "Enter your e-mail address"),
    Field("password", 200, "Enter your password"),
)


@get("/")
async def start(request: PageRequest) -> Response[str]:
    """Lead to where one can begin."""
    return redirect(HOME if visit_of(request.scope).user else "/login")


@get("/login")
async def show_login(request: PageRequest) -> Response[str]:
    """Show the sign-in form."""
    wanted = query_of(request).get("next", "")
    if visit_of(request.scope).user is not None:
        return redirect(local_path(wanted))
    return _show(request, EMPTY, wanted=wanted)


@post("/login", status_code=303)
async def log_in(request: PageRequest, work: NamedDependency[Work]) -> Response[str]:
    """Begin a session for the one who knows the password."""
    form, visit = read_form(request, *FIELDS), visit_of(request.scope)
    if visit.user is not None:
        return redirect(local_path(form["next"]))
    if form.faults:
        return _show(request, form, wanted=form["next"], status=400)
    try:
        token = await _sign_in(request, work, form)
    except WrongSignIn as refusal:
        return _show(request, form.with_faults({"form": refusal.message}), wanted=form["next"], status=401)
    return with_session(redirect(local_path(form["next"])), token, work)


@post("/logout", status_code=303)
async def log_out(work: NamedDependency[Work]) -> Response[str]:
    """End the session."""
    await access.sign_out(work)
    answer = redirect("/login")
    answer.cookies.append(_cookie("", work, max_age=0))
    return answer


def with_session(answer: Response[str], token: str, work: Work) -> Response[str]:
    """Give the browser the session to keep."""
    answer.cookies.append(_cookie(token, work, max_age=int(access.SESSION_LASTS.total_seconds())))
    return answer


def local_path(wanted: str) -> str:
    """Take a path of ours, and home for everything else."""
    return wanted if LOCAL_PATH.fullmatch(wanted) else HOME


def browser_of(request: PageRequest) -> str:
    """Name the browser as it names itself."""
    return "".join(sign for sign in visit_of(request.scope).headers.get("user-agent", "") if sign.isprintable())


async def _sign_in(request: PageRequest, work: Work, form: Form) -> str:
    email, password, address = form["email"], form["password"], visit_of(request.scope).address
    async with counting_wrong_passwords(work, email=email, address=address):
        token, _ = await access.sign_in(work, email=email, password=password, user_agent=browser_of(request))
    return token


def _show(request: PageRequest, form: Form, *, wanted: str, status: int = 200) -> Response[str]:
    return page(request, "login.html", status=status, form=form, wanted=local_path(wanted))


def _cookie(token: str, work: Work, *, max_age: int) -> Cookie:
    secure = work.house.settings.public_url.startswith("https://")
    return Cookie(key=COOKIE, value=token, path="/", max_age=max_age, httponly=True, samesite="lax", secure=secure)
