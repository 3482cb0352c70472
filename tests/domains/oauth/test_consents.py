"""A consent belongs to the session that has begun it, counts once, and is kept sealed."""

from uuid import uuid4

import pytest
import structlog

from openslot.domains.accounts.models import User
from openslot.domains.oauth import operations as oauth
from openslot.domains.oauth.models import (
    CallbackQuery,
    ConsentDeclined,
    ConsentIncomplete,
    InvalidOAuthResponse,
    OAuthUnreachable,
    OAuthVendor,
)
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle
from tests.support.google_host import EMAIL, allow, in_session, read_callback

EVENTS = "https://www.googleapis.com/auth/calendar.events"
LIST = "https://www.googleapis.com/auth/calendar.calendarlist.readonly"


async def begin(runtime: Runtime, user: User, google: FakeGoogle) -> CallbackQuery:
    """Begin in a session of its own, and decide."""
    url = await oauth.begin_oauth_consent(in_session(runtime, user), user, OAuthVendor.GOOGLE)
    return read_callback(google.consents.decide(url, EMAIL))


async def test_what_was_allowed_comes_back_with_tokens(runtime: Runtime, user: User, google: FakeGoogle) -> None:
    consent = await allow(runtime, user, google)

    assert set(consent.scopes) == {LIST, EVENTS}
    assert google.consents.find_access(consent.tokens.access_token) is not None
    assert consent.tokens.refresh_token in google.consents.grants


async def test_an_answer_counts_once(runtime: Runtime, user: User, google: FakeGoogle) -> None:
    work = in_session(runtime, user)
    url = await oauth.begin_oauth_consent(work, user, OAuthVendor.GOOGLE)
    answer = read_callback(google.consents.decide(url, EMAIL))
    await oauth.finish_oauth_consent(work, user, OAuthVendor.GOOGLE, answer)

    with pytest.raises(InvalidOAuthResponse):
        await oauth.finish_oauth_consent(work, user, OAuthVendor.GOOGLE, answer)
    assert await runtime.pool.fetchval("select count(*) from oauth_attempts") == 0


async def test_an_answer_in_another_session_is_refused_and_not_exchanged(
    runtime: Runtime, user: User, google: FakeGoogle
) -> None:
    answer = await begin(runtime, user, google)

    with pytest.raises(InvalidOAuthResponse):
        await oauth.finish_oauth_consent(in_session(runtime, user, uuid4()), user, OAuthVendor.GOOGLE, answer)
    assert answer.code in google.consents.codes


async def test_an_answer_with_another_state_is_refused(runtime: Runtime, user: User, google: FakeGoogle) -> None:
    work = in_session(runtime, user)
    await oauth.begin_oauth_consent(work, user, OAuthVendor.GOOGLE)

    with pytest.raises(InvalidOAuthResponse):
        await oauth.finish_oauth_consent(
            work, user, OAuthVendor.GOOGLE, CallbackQuery(code="4/stolen", state="guessed")
        )
    assert google.asked == []


async def test_an_answer_after_ten_minutes_is_refused(
    runtime: Runtime, clock: MovingClock, user: User, google: FakeGoogle
) -> None:
    session = uuid4()
    url = await oauth.begin_oauth_consent(in_session(runtime, user, session), user, OAuthVendor.GOOGLE)
    answer = read_callback(google.consents.decide(url, EMAIL))
    clock.pass_time(minutes=10)

    with pytest.raises(InvalidOAuthResponse):
        await oauth.finish_oauth_consent(in_session(runtime, user, session), user, OAuthVendor.GOOGLE, answer)


async def test_a_code_of_somebody_else_is_of_no_use(runtime: Runtime, user: User, google: FakeGoogle) -> None:
    theirs = await begin(runtime, user, google)
    work = in_session(runtime, user)
    url = await oauth.begin_oauth_consent(work, user, OAuthVendor.GOOGLE)
    mine = read_callback(google.consents.decide(url, EMAIL))

    with pytest.raises(InvalidOAuthResponse):
        await oauth.finish_oauth_consent(
            work, user, OAuthVendor.GOOGLE, CallbackQuery(code=theirs.code, state=mine.state)
        )


async def test_a_person_who_cancels_connects_nothing(runtime: Runtime, user: User, google: FakeGoogle) -> None:
    with pytest.raises(ConsentDeclined):
        await allow(runtime, user, google, declines=True)


@pytest.mark.parametrize("unticked", [(EVENTS,), (LIST,), (LIST, EVENTS)])
async def test_boxes_that_were_not_selected_are_named(
    runtime: Runtime, user: User, google: FakeGoogle, unticked: tuple[str, ...]
) -> None:
    with pytest.raises(ConsentIncomplete) as refused:
        await allow(runtime, user, google, unticked=unticked)

    assert tuple(each.scope for each in refused.value.missing) == unticked


async def test_a_wrong_secret_of_the_operator_is_no_fault_of_the_host(
    runtime: Runtime, user: User, google: FakeGoogle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.fake_google.consents.CLIENT_SECRET", "another")

    with pytest.raises(OAuthUnreachable, match="can't be reached") as refused:
        await allow(runtime, user, google)
    assert "invalid_client" in refused.value.reason


async def test_tokens_are_sealed_and_never_logged(runtime: Runtime, user: User, google: FakeGoogle) -> None:
    with structlog.testing.capture_logs() as logged:
        consent = await allow(runtime, user, google)
        grant_id = uuid4()
        async with runtime.transaction(OPERATOR) as work:
            await oauth.keep_grant(work, user, grant_id, consent)
        google.consents.end_access_tokens()
        await oauth.GrantTokens(runtime, grant_id).get(refused=consent.tokens.access_token)
    rows = await runtime.pool.fetch("select g::text as shown, secret from oauth_grants g")
    secrets = [consent.tokens.access_token, consent.tokens.refresh_token]
    kept = "".join(row["shown"] + row["secret"].decode("latin-1") for row in rows)

    assert [each for each in secrets if each in kept or each in str(logged)] == []


async def test_unfinished_consents_are_forgotten(runtime: Runtime, clock: MovingClock, user: User) -> None:
    await oauth.begin_oauth_consent(in_session(runtime, user), user, OAuthVendor.GOOGLE)
    clock.pass_time(minutes=11)

    assert await oauth.tidy_attempts(runtime.work(OPERATOR)) == "1 unfinished consents forgotten"
