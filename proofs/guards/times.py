"""Guards of times and of work: nothing is booked twice, nothing is lost, hosts are chosen fairly, clocks are right."""

from proofs.guards.models import Mutant, mutant

NO_LOCK = ("domains/accounts/store.py", 'LOCK_HOST = f"take_turn({HOSTS}, u.no::int)"', 'LOCK_HOST = "u.no"')
NO_CONSTRAINT = (
    "platform/migrations/0.2.0_12_availability.sql",
    "exclude using gist (int8range(host_no, host_no, '[]') with =, during with &&) where (active)",
    "check (seats > 0)",
)

OF_TIMES: tuple[Mutant, ...] = (
    mutant("no lock", "domains/bookings/test_guards.py::test_every_writer_waits_for_the_hosts_lock", NO_LOCK),
    mutant("no constraint", "domains/availability/test_constraint.py", NO_CONSTRAINT),
    mutant(
        "neither lock nor constraint",
        "domains/bookings/test_races.py::test_of_many_clients_one_gets_the_slot",
        NO_LOCK,
        NO_CONSTRAINT,
    ),
    mutant(
        "neither, for overlaps",
        "domains/bookings/test_races.py::test_shifted_lengths_buffers_moves_and_cancels_never_overlap",
        NO_LOCK,
        NO_CONSTRAINT,
    ),
    mutant("no lock, for seats", "domains/bookings/test_races.py::test_seats_are_given_out_exactly", NO_LOCK),
    mutant(
        "neither, for times that are exchanged",
        "domains/bookings/test_races.py::test_two_bookings_that_want_each_others_time_hold_one_slot_each",
        NO_LOCK,
        NO_CONSTRAINT,
    ),
    mutant(
        "no lock of a team's event type",
        "domains/bookings/test_team_pairs.py::test_of_many_who_book_one_session_as_many_as_there_are_seats_get_one_with_the_same_hosts",
        (
            "domains/accounts/store.py",
            'LOCK_TEAM_EVENT_TYPE = f"take_turn({TEAMS}, r.no)"',
            'LOCK_TEAM_EVENT_TYPE = "r.no"',
        ),
    ),
    mutant(
        "no locks of a team's hosts",
        "domains/bookings/test_team_bookings.py::test_hosts_are_locked_in_one_order_whichever_groups_they_are_in",
        ("platform/migrations/0.2.0_12_availability.sql", "perform take_turn(1, locked_no);", "null;"),
    ),
    mutant(
        "events of a leaver one by one",
        "domains/people/test_leaving_locks.py::test_who_leaves_and_a_workers_batch_take_the_lanes_of_bookings_in_one_order",
        ("platform/core/work.py", "if work.gathered is not None:", "if work.db:"),
    ),
    mutant(
        "tries of strangers are everybody's",
        "domains/bookings/test_email_codes_and_strangers.py::test_wrong_codes_of_strangers_leave_a_person_all_tries",
        (
            "domains/access/resets/store.py",
            "case when asked_by = $5 then wrong_tries else wrong_tries_of_others end < $4",
            "wrong_tries + wrong_tries_of_others < $4 and $5::bytea is not null",
        ),
    ),
    mutant(
        "a host of a team who was read too early",
        "domains/bookings/test_team_bookings.py::test_a_host_who_is_away_meanwhile_is_judged_again",
        (
            "platform/migrations/0.2.0_12_availability.sql",
            "where seen.version is distinct from (",
            "where seen.version is distinct from seen.version and 0 = (",
        ),
    ),
    mutant(
        "a host of a team who has left meanwhile",
        "domains/bookings/test_team_bookings.py::test_a_host_who_leaves_meanwhile_is_not_chosen",
        ("platform/migrations/0.2.0_12_availability.sql", " and (u.left_at is null or u.left_at <= claim_made)", ""),
    ),
    mutant(
        "two answers to one request",
        "domains/bookings/test_team_requests.py::test_of_many_answers_at_once_one_counts",
        ("domains/bookings/requests/store.py", "await db.execute(LOCK_OF, ref.id)\n    row", "row"),
        ("domains/bookings/requests/store.py", " where {OWN} for no key update of b, r", " where {OWN}"),
        (
            "domains/bookings/requests/store.py",
            "where booking_id = $1 and state = 'waiting'\"",
            'where booking_id = $1"',
        ),
    ),
    mutant(
        "a rule too few",
        "domains/availability/test_against_oracle.py::test_engine_and_oracle_list_and_judge_alike",
        ("domains/availability/rules.py", "    (Code.HOLIDAY, close_holidays),\n", ""),
    ),
    mutant(
        "a rule too few, for hosts of a team",
        "domains/availability/test_teams_against_oracle.py::test_engine_and_oracle_list_and_judge_alike",
        ("domains/availability/rules.py", "    (Code.BUSY, close_busy),\n", ""),
    ),
    mutant(
        "a choice of who had the most",
        "domains/teams/test_fairness.py::test_nobody_is_further_from_their_share_than_the_bound",
        (
            "domains/teams/choice.py",
            "(-_behind(each, earned, rules), each.last_no, each.host_no)",
            "(_behind(each, earned, rules), each.last_no, each.host_no)",
        ),
    ),
    mutant(
        "a credit that the ledger does not have",
        "domains/teams/test_ledger_lives.py::test_the_ledger_adds_up_in_every_life",
        (
            "domains/teams/ledger/store.py",
            "set credit = h.credit + w.delta, last_no",
            "set credit = h.credit + w.delta + 1, last_no",
        ),
    ),
    mutant(
        "a change of the clocks that is not seen",
        "domains/availability/test_dst_suite.py::test_slots_around_every_change_are_those_of_the_wall_clock",
        (
            "platform/core/times.py",
            "return max(wall - offsets.seconds[run], offsets.starts[run])",
            "return wall - offsets.seconds[run]",
        ),
    ),
    mutant(
        "a dead worker's work",
        "platform/jobs/test_killed_workers.py::test_what_a_killed_worker_held_is_taken_up_by_another_within_30_seconds",
        ("platform/core/effects.py", "ABANDONED_AFTER = timedelta(seconds=15)", "ABANDONED_AFTER = timedelta(days=15)"),
    ),
    mutant(
        "work that two take",
        "platform/jobs/test_taking.py::test_what_one_is_just_taking_another_does_not_get",
        (
            "platform/core/queue_order.py",
            "order by next_try_at limit $3 for update skip locked\n), accounts",
            "order by next_try_at limit $3\n), accounts",
        ),
    ),
    mutant(
        "a result that is forgotten",
        "platform/jobs/test_full_disk.py::test_what_was_done_is_not_done_again_while_its_result_can_not_be_stored",
        ("platform/jobs/effects.py", "@insists\nasync def _store(", "async def _store("),
    ),
    mutant(
        "our own outage as somebody else's fault",
        "platform/jobs/test_full_disk.py::"
        "test_a_reaction_whose_connection_is_killed_or_that_finds_nobody_listening_loses_no_try",
        ("platform/core/db.py", "(is_lost(fault) or isinstance(fault, kinds))", "isinstance(fault, kinds)"),
    ),
    mutant(
        "a worker that never gives up",
        "platform/jobs/test_full_disk.py::test_a_worker_that_has_to_stop_leaves_a_result_that_can_not_be_stored_"
        "and_its_effect_is_taken_up_again",
        ("platform/jobs/effects.py", "self.ends_at = min(self.ends_at, ", "self.ends_at = max(self.ends_at, "),
    ),
    mutant(
        "an endpoint that stays slow",
        "platform/jobs/test_fair_places.py::test_what_waits_at_a_target_that_was_silent_is_called_one_by_one_until_it_is_quick_again",
        ("platform/jobs/places.py", "at_least=int(answered is True and took <= QUICK)", "at_least=0"),
    ),
    mutant(
        "an answer before the disk has it",
        "journeys/test_restarted_database.py::test_nothing_acknowledged_is_lost_when_postgresql_is_killed",
        ("platform/core/db.py", '"timezone": "UTC", "jit": "off"}', '"timezone": "UTC", "synchronous_commit": "off"}'),
    ),
    mutant(
        "a calendar that was read too early",
        "domains/calendars/test_read_too_early.py",
        (
            "domains/calendars/host_changes.py",
            "return kept != self.written.get(kept.booking_id)",
            "return False",
        ),
    ),
    mutant(
        "a time that an event which is gone keeps",
        "domains/calendars/test_read_too_early.py",
        ("domains/calendars/event_store.py", " or e.finished_at > $4)", " or e.finished_at > $4 and false)"),
    ),
    mutant(
        "a clock that was read too early",
        "domains/access/test_key_limit.py::test_a_place_counts_from_when_it_is_given_not_from_when_it_was_asked_for",
        ("domains/access/limits/store.py", "date_part('epoch', clock_timestamp())", "date_part('epoch', now())"),
    ),
    mutant(
        "failures without a limit",
        "domains/access/test_failure_limit.py::test_a_good_key_waits_with_its_address_and_is_not_charged",
        ("domains/access/door.py", 'if row["failed"] >= _failed_limit(settings, kind):', "if False:"),
    ),
    mutant(
        "a header that anyone may write",
        "domains/access/test_addresses.py::test_only_what_trusted_proxies_wrote_is_believed",
        ("domains/access/door.py", "        if not _is_trusted(address, trusted):\n            return address\n", ""),
    ),
    mutant(
        "a stranger's booking",
        "hostile/test_foreign_ids.py::test_what_is_another_hosts_looks_like_nothing",
        (
            "domains/bookings/store.py",
            "b.id = $1 and ($2::uuid is null or b.host_id = $2)",
            "b.id = $1 and ($2::uuid is null or true)",
        ),
    ),
    mutant(
        "a lost plan",
        "domains/access/test_credentials.py::test_every_cause_gets_the_same_401_on_the_next_request",
        ("domains/access/door.py", "if user.effective_plan not in PLANS_WITH_API:", "if False:"),
    ),
    mutant(
        "a revoked key",
        "domains/access/test_credentials.py::test_every_cause_gets_the_same_401_on_the_next_request",
        ("domains/access/entries/store.py", "and k.revoked_at is null", ""),
    ),
    mutant(
        "a key in the clear",
        "domains/access/test_secrets_stay_secret.py::test_the_database_holds_no_secret_in_the_clear",
        ("platform/core/ids.py", "return hashlib.sha256(token.encode()).digest()", "return token.encode()"),
    ),
    mutant(
        "a private address",
        "platform/core/test_outbound_urls.py::test_a_harmless_name_with_a_private_address_is_not_connected_to",
        ("platform/core/outbound/targets.py", "if not is_public(address):", "if False:"),
    ),
    mutant(
        "a name that is rebound",
        "platform/core/test_outbound_redirects.py::"
        "test_a_name_that_is_rebound_between_two_redirects_is_refused_though_its_connection_is_open",
        ("platform/core/outbound/transport.py", "check_addresses(target, addresses, allow=self.allow)", "pass"),
    ),
    mutant(
        "another schedule",
        "domains/webhooks/test_delivery.py::test_ten_tries_on_the_published_schedule_then_dead_then_replayed",
        ("domains/webhooks/rules.py", "(2, 5, 10, 14, 20, 24)", "(2, 5, 10, 14, 20)"),
    ),
    mutant(
        "an endpoint that is gone",
        "domains/webhooks/test_delivery.py::test_410_switches_the_endpoint_off_at_once_and_its_owner_is_to_be_told",
        ("domains/webhooks/rules.py", "GONE = 410", "GONE = 411"),
    ),
    mutant(
        "an impatient sender",
        "domains/webhooks/test_answers.py::"
        "test_what_the_endpoint_wishes_for_is_honoured_up_to_a_day_and_never_shortens_the_schedule",
        (
            "domains/webhooks/reactions.py",
            "raise TryLater(recall(attempt.error), after=wished)",
            "raise TryLater(recall(attempt.error))",
        ),
    ),
)
