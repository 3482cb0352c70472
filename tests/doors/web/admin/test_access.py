"""Only administrators of the platform see the administration."""

import re

import httpx2

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.doors.web.shared.navigation import ITEMS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.support.host import open_session

NOBODY = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"
# Who gets what: an administrator of the platform, a host, an owner of an organization, and someone who is signed out.
# Ids are of nobody, and forms are empty.
MATRIX = """
GET /admin/analytics                                           200 404 404 303
GET /admin/users                                               200 404 404 303
GET /admin/users/{user_id}                                     404 404 404 303
POST /admin/users/{user_id}/plan                               404 404 404 303
POST /admin/users/{user_id}/clear-plan                         404 404 404 303
GET /admin/users/{user_id}/administrator                       404 404 404 303
POST /admin/users/{user_id}/administrator                      404 404 404 303
POST /admin/users/{user_id}/sign-out                           404 404 404 303
GET /admin/users/{user_id}/disable                             404 404 404 303
POST /admin/users/{user_id}/disable                            404 404 404 303
POST /admin/users/{user_id}/enable                             404 404 404 303
GET /admin/organizations                                       200 404 404 303
GET /admin/organizations/{slug}                                404 404 404 303
POST /admin/organizations/{slug}/plan                          404 404 404 303
POST /admin/organizations/{slug}/clear-plan                    404 404 404 303
GET /admin/organizations/{slug}/delete                         404 404 404 303
POST /admin/organizations/{slug}/delete                        404 404 404 303
GET /admin/agents                                              200 404 404 303
GET /admin/agents/{slug}                                       200 404 404 303
POST /admin/agents/{slug}/level                                400 404 404 303
POST /admin/agents/{slug}/scopes                               303 404 404 303
POST /admin/agents/{slug}/keys                                 400 404 404 303
GET /admin/agents/{slug}/keys/{key_id}/rotate                  404 404 404 303
POST /admin/agents/{slug}/keys/{key_id}/rotate                 404 404 404 303
GET /admin/agents/{slug}/keys/{key_id}/deactivate              404 404 404 303
POST /admin/agents/{slug}/keys/{key_id}/deactivate             404 404 404 303
GET /admin/approvals                                           200 404 404 303
GET /admin/approvals/{approval_id}                             404 404 404 303
POST /admin/approvals/{approval_id}/approve                    404 404 404 303
POST /admin/approvals/{approval_id}/reject                     404 404 404 303
GET /admin/team-chat                                           200 404 404 303
GET /admin/audit                                               200 404 404 303
GET /admin/audit/export.csv                                    200 404 404 303
POST /admin/audit/verify                                       200 404 404 303
GET /admin/flags                                               200 404 404 303
GET /admin/flags/{key}                                         200 404 404 303
POST /admin/flags/{key}                                        303 404 404 303
POST /admin/flags/{key}/overrides                              400 404 404 303
POST /admin/flags/{key}/overrides/{user_id}/remove             303 404 404 303
GET /admin/messaging                                           200 404 404 303
GET /admin/messaging/{channel}/stop                            200 404 404 303
POST /admin/messaging/{channel}/stop                           400 404 404 303
GET /admin/messaging/{channel}/resume                          200 404 404 303
POST /admin/messaging/{channel}/resume                         400 404 404 303
GET /admin/jobs                                                200 404 404 303
POST /admin/jobs/effects/{effect_id}/retry                     303 404 404 303
POST /admin/jobs/effects/retry                                 303 404 404 303
GET /admin/mailbox                                             200 404 404 303
GET /admin/mailbox/{mail_id}                                   404 404 404 303
GET /admin/mailbox/{mail_id}/html                              404 404 404 303
GET /admin/mailbox/{mail_id}/source                            404 404 404 303
GET /admin/mailbox/{mail_id}/attachments/{no}                  404 404 404 303
GET /admin/system                                              200 404 404 303
GET /admin/system/google                                       200 404 404 303
GET /admin/system/microsoft                                    200 404 404 303
POST /admin/system/backups                                     303 404 404 303
GET /admin/system/backups/{name}                               404 404 404 303
GET /admin/log                                                 200 404 404 303
GET /admin/log.csv                                             200 404 404 303
"""
LINES = [line.split() for line in MATRIX.strip().splitlines()]


def routes() -> list[tuple[str, str]]:
    """List every page and form of the administration, as it is declared."""
    declared = [find_declaration(handler) for handler in collect("openslot.doors.web.admin")]
    return [(each.method, str(each.path)) for each in declared if each is not None]


def test_the_matrix_names_every_page_and_form() -> None:
    assert sorted((method, path) for method, path, *_ in LINES) == sorted(routes())


async def test_only_administrators_of_the_platform_come_in(
    client: httpx2.AsyncClient, runtime: Runtime, admin_user: User, user: User, stranger: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        studio = await organizations.add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, studio, stranger, role=Role.OWNER)
    people = [await open_session(runtime, who) for who in (admin_user, user, stranger)]
    found = []
    for method, path, *_ in LINES:
        slug = "support" if "/agents/" in path else "nothing"
        values = dict.fromkeys(re.findall(r"\{(\w+)\}", path), NOBODY) | {
            "slug": slug,
            "key": "api_docs",
            "channel": "email",
        }
        target = path.format(**values)
        answers = [await client.request(method, target, headers=headers, timeout=120) for headers in (*people, {})]
        found.append([method, path, *(str(answer.status_code) for answer in answers)])
        assert answers[-1].headers["location"].startswith("/login")
        assert not any("Administration" in answer.text for answer in answers[1:])

    assert found == LINES


def test_the_pages_are_under_one_address_and_in_the_navigation() -> None:
    assert all(path.startswith("/admin/") for _, path in routes())
    named = {item.path for item in ITEMS if item.group == "administration"}
    assert named <= {path for method, path in routes() if method == "GET"}


async def test_the_navigation_shows_it_to_administrators_alone(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, admin_user: User
) -> None:
    shown = {}
    for who in (user, admin_user):
        client.headers.update(await open_session(runtime, who))
        shown[who.email] = "/admin/users" in (await client.get("/")).text

    assert shown == {user.email: False, admin_user.email: True}
