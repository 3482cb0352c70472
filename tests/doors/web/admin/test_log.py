"""The change log of the platform: every change of an administrator leaves a line that says who and what."""

import re
from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.doors.web.shared.changes import PLATFORM_ACTIONS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.support.agent import TestAgent
from tests.support.clocks import MovingClock
from tests.support.host import TWELVE, Book, fail, listen
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

# Forms that change nothing.
READING = {"/admin/audit/verify"}


@pytest.fixture
async def forms(
    runtime: Runtime, admin: httpx2.AsyncClient, user: User, support: TestAgent, clock: MovingClock, book: Book
) -> dict[str, tuple[str, dict[str, Any], str]]:
    """Let every form have something to change; by the path as it is declared: the address, the fields, the action."""
    async with runtime.transaction(OPERATOR) as work:
        await organizations.add_organization(work, name="Harbor", slug="harbor", plan=Plan.FREE)
    await listen(runtime, user)
    waiting = [
        (await support.call("cancel_booking", bookingId=str((await book(**when)).id), reason="Ill", confirm=True))
        for when in ({}, {"starts_at": TWELVE, "email": "hana@kim.example"})
    ]
    approvals = [each["error"]["data"]["approvalId"] for each in waiting]
    await fail(runtime, clock)
    effect = await runtime.pool.fetchval("select id from effects where state = 'dead'")
    keys = []
    for name in ("one", "two"):
        page = (await admin.post("/admin/agents/seo/keys", data={"name": name, "expires": "never"})).text
        keys = re.findall(r"/admin/agents/seo/keys/([0-9a-f-]+)/rotate", page)
    await runtime.pool.execute("delete from change_log")
    person, seo, flag = f"/admin/users/{user.id}", "/admin/agents/seo", "/admin/flags/api_docs"
    return {
        "/admin/users/{user_id}/plan": (f"{person}/plan", {"plan": "BUSINESS"}, "user.plan_changed"),
        "/admin/users/{user_id}/clear-plan": (f"{person}/clear-plan", {}, "user.plan_changed"),
        "/admin/users/{user_id}/administrator": (
            f"{person}/administrator",
            {"admin": "yes"},
            "user.administrator_changed",
        ),
        "/admin/users/{user_id}/sign-out": (f"{person}/sign-out", {}, "user.signed_out"),
        "/admin/users/{user_id}/disable": (f"{person}/disable", {"reason": "Left"}, "user.disabled"),
        "/admin/users/{user_id}/enable": (f"{person}/enable", {}, "user.enabled"),
        "/admin/organizations/{slug}/plan": (
            "/admin/organizations/harbor/plan",
            {"plan": "PRO"},
            "organization.plan_changed",
        ),
        "/admin/organizations/{slug}/clear-plan": (
            "/admin/organizations/harbor/clear-plan",
            {},
            "organization.plan_changed",
        ),
        "/admin/organizations/{slug}/delete": (
            "/admin/organizations/harbor/delete",
            {"name": "Harbor", "password": PASSWORD},
            "organization.deleted",
        ),
        "/admin/agents/{slug}/level": (f"{seo}/level", {"level": "L1"}, "agent.level_changed"),
        "/admin/agents/{slug}/scopes": (f"{seo}/scopes", {"scopes": ["flags:read"]}, "agent.scopes_changed"),
        "/admin/agents/{slug}/keys": (f"{seo}/keys", {"name": "x", "expires": "30"}, "agent_key.created"),
        "/admin/agents/{slug}/keys/{key_id}/rotate": (
            f"{seo}/keys/{keys[0]}/rotate",
            {"hours": "0"},
            "agent_key.rotated",
        ),
        "/admin/agents/{slug}/keys/{key_id}/deactivate": (
            f"{seo}/keys/{keys[1]}/deactivate",
            {},
            "agent_key.deactivated",
        ),
        "/admin/approvals/{approval_id}/approve": (
            f"/admin/approvals/{approvals[0]}/approve",
            {},
            "agent_call.approved",
        ),
        "/admin/approvals/{approval_id}/reject": (
            f"/admin/approvals/{approvals[1]}/reject",
            {"reason": "No"},
            "agent_call.rejected",
        ),
        "/admin/flags/{key}": (flag, {"enabled": "off"}, "flag.switched"),
        "/admin/flags/{key}/overrides": (
            f"{flag}/overrides",
            {"email": user.email, "enabled": "on"},
            "flag.set_for_user",
        ),
        "/admin/flags/{key}/overrides/{user_id}/remove": (
            f"{flag}/overrides/{user.id}/remove",
            {},
            "flag.reset_for_user",
        ),
        "/admin/messaging/{channel}/stop": ("/admin/messaging/all/stop", {"reason": "A loop"}, "messaging.stopped"),
        "/admin/messaging/{channel}/resume": (
            "/admin/messaging/all/resume",
            {"reason": "Mended"},
            "messaging.resumed",
        ),
        "/admin/jobs/effects/{effect_id}/retry": (f"/admin/jobs/effects/{effect}/retry", {}, "effects.retried"),
        "/admin/jobs/effects/retry": ("/admin/jobs/effects/retry", {}, "effects.retried"),
        "/admin/system/backups": ("/admin/system/backups", {}, "backup.created"),
    }


@pytest.mark.rest("opens every page or sends every form")
async def test_every_form_leaves_a_line_that_says_who_and_what(
    admin: httpx2.AsyncClient,
    runtime: Runtime,
    admin_user: User,
    forms: dict[str, tuple[str, dict[str, Any], str]],
) -> None:
    declared = {
        each.path
        for each in map(find_declaration, collect("openslot.doors.web.admin"))
        if each and each.method == "POST"
    }
    assert declared - READING == set(forms)
    for path, (address, fields, action) in forms.items():
        before = await runtime.pool.fetchval("select count(*) from change_log")
        answer = await admin.post(address, data=fields, timeout=120)
        rows = await runtime.pool.fetch("select * from change_log order by id")

        assert answer.status_code in {200, 303}, (path, answer.text)
        assert len(rows) == before + 1, path
        assert rows[-1]["action"] == action
        assert rows[-1]["actor_email"] == admin_user.email
        assert rows[-1]["scope"] == "platform"
        assert "svc_agent_" not in rows[-1]["after"]
    page = (await admin.get("/admin/log")).text
    assert page.count('<tr role="row">') == len(forms) + 1
    assert {action for _, _, action in forms.values()} | {"backup.downloaded"} == set(PLATFORM_ACTIONS)


async def test_a_refused_change_leaves_no_line(admin: httpx2.AsyncClient, runtime: Runtime, admin_user: User) -> None:
    await admin.post(f"/admin/users/{admin_user.id}/disable", data={"reason": ""})
    await admin.post(f"/admin/users/{admin_user.id}/plan", data={"plan": "GOLD"})

    assert await runtime.pool.fetchval("select count(*) from change_log") == 0


async def test_before_and_after_are_told_filtered_and_exported(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await admin.post(f"/admin/users/{user.id}/plan", data={"plan": "FREE"})
    await admin.post("/admin/flags/api_docs", data={"enabled": "off"})
    page = (await admin.get("/admin/log?action=user.plan_changed")).text
    file = await admin.get("/admin/log.csv?q=LINDQVIST")

    assert page.count('<tr role="row">') == 2
    assert "Plan of a user changed" in page
    assert re.search(r"<bdi>Pro</bdi>.*<bdi>Free</bdi>", page)
    assert file.text.count("\n") == 2
    assert "Plan: Free" in file.text
    assert "No change matches" in read_page(await admin.get("/admin/log?q=nobody")).text
    assert (await admin.get("/admin/log?from=x")).status_code == 400
