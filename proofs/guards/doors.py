"""Guards of doors: who may do what, what is read and shown, what agents do, what is backed up."""

from proofs.guards.models import Mutant, mutant

OF_DOORS: tuple[Mutant, ...] = (
    mutant(
        "a scope too many",
        "doors/agents/test_table.py::test_every_cell_is_what_the_specification_says",
        ("doors/agents/calls.py", "if tool.scope not in caller.scopes:", "if False:"),
    ),
    mutant(
        "an agent that reads a stranger's words as its own instructions",
        "doors/agents/test_quotes.py::test_orders_in_bookings_are_quoted",
        ("doors/agents/calls.py", "return respond(mark(result))", "return respond(result)"),
    ),
    mutant(
        "an approval that hides what its agent has read",
        "doors/agents/test_quotes.py::test_an_approval_says_whether_the_agent_has_read_texts_since_a_person_last_approved",
        ("doors/agents/approvals/operations.py", "list(showing), person", "[], person"),
    ),
    mutant(
        "a backup that anyone may change",
        "cli/test_backup_signature.py",
        (
            "platform/backups/restore.py",
            '"nothing" if unverified else check_signature(settings, backup)',
            '"everything"',
        ),
    ),
    mutant(
        "a file that can't be read rings the alarm of the database",
        "platform/core/test_outages.py::test_only_the_databases_own_errors_mean_that_it_is_unavailable",
        (
            "doors/http/errors.py",
            "if is_refused(exception):",
            "if isinstance(exception, OSError) or is_refused(exception):",
        ),
    ),
    mutant(
        "a request line that others read differently",
        "doors/http/test_reading.py::test_a_stray_character_is_read_as_strictly_as_h11_reads_it",
        ("doors/http/protocol/messages.py", "if REQUEST_LINE.fullmatch(self._line) is None:", "if False:"),
    ),
    mutant(
        "agents that read what lies beside the source code",
        "doors/agents/test_codebase.py::test_what_git_does_not_track_does_not_exist",
        ("doors/agents/codebase.py", 'if "/".join(names) not in codebase.files or not', "if not"),
    ),
    mutant(
        "a budget that is not locked",
        "doors/agents/test_budget.py::test_fifty_spends_at_once_never_pass_the_agents_cap",
        ("doors/agents/store.py", "order by agent for update", "order by agent"),
    ),
    mutant(
        "a chain without links",
        "doors/agents/test_chain.py::test_tampering_is_found_and_named",
        ("doors/agents/audit/operations.py", 'return previous + b"%d" % no + encode(record)', "return encode(record)"),
    ),
    mutant(
        "an id that is none",
        "contracts/test_openapi.py::test_every_operation_answers_as_it_is_described",
        ("platform/core/ids.py", "if SHAPE.fullmatch(text) is None:", "if False:"),
    ),
    mutant(
        "depth without end",
        "doors/http/test_bodies.py::test_64_levels_are_read_and_65_are_not",
        ("doors/http/bodies.py", "        if depth > DEEPEST:\n", "        if depth > 10 * DEEPEST:\n"),
    ),
    mutant(
        "filters without end",
        "doors/scim/test_filters.py::test_what_is_no_filter_is_refused_in_words",
        ("doors/scim/filters.py", "if depth > DEEPEST or self._terms > MAX_TERMS:", "if False:"),
    ),
    mutant(
        "a line break in a header",
        "domains/mail/test_message.py::test_no_text_becomes_a_header",
        ("platform/core/text.py", 'line = " ".join(kept.split())', "line = kept"),
        ("platform/core/text.py", "if not (kept.isascii() and kept.isprintable()):", "if False:"),
    ),
    mutant(
        "a look that unsubscribes",
        "doors/agents/test_marketing.py::test_looking_at_the_page_changes_nothing",
        (
            "doors/web/account.py",
            "_, is_done = await get_email_recipient(work, token)",
            "is_done = await unsubscribe_recipient(work, token) or True",
        ),
    ),
    mutant(
        "another site's form",
        "doors/web/test_csrf.py::test_a_form_of_another_site_is_refused_even_with_the_token",
        ("doors/web/door.py", "if origin is not None and _host(origin) not in own:", "if False:"),
    ),
    mutant(
        "a form without its token",
        "doors/web/test_csrf.py::test_a_form_without_the_token_of_the_session_is_refused",
        ("doors/web/shared/cookies.py", "if not _is_token(exchange.runtime, session_id, token):", "if False:"),
    ),
    mutant(
        "a page without its language",
        "doors/web/booking_page/test_accessible.py::test_every_state_fits_a_phone_and_axe_finds_no_fault",
        ("doors/web/templates/booking/layout.html", '<html lang="{{ locale.language.tag }}" ', "<html "),
    ),
    mutant(
        "one fault at a time",
        "doors/http/test_all_faults.py::test_every_fault_of_a_body_is_named",
        ("doors/http/bodies.py", "MAX_FAULTS = 100", "MAX_FAULTS = 1"),
    ),
    mutant(
        "half a change",
        "doors/http/test_transactions.py::test_what_is_refused_is_undone_however_it_is_said",
        ("doors/http/handlers.py", "work.rolls_back = response.status >= 400", "work.rolls_back = False"),
    ),
    mutant(
        "a start that prints no link",
        "cli/test_serve.py::test_the_first_start_prints_a_one_time_link_that_works",
        ("processes/first_start.py", "if words.setup_link is not None:", "if False:"),
    ),
    mutant(
        "a migration that does not give way",
        "platform/core/test_migrating_beside_others.py::"
        "test_a_migration_gives_way_to_a_request_that_waits_for_it_and_holds_what_it_needs",
        (
            "platform/core/migrate.py",
            "lock_timeout: timedelta = timedelta(milliseconds=300)",
            "lock_timeout: timedelta = timedelta(seconds=2)",
        ),
    ),
    mutant(
        "a link in the log",
        "proofs/test_secrets.py::test_what_was_issued_is_found_nowhere_and_what_is_planted_is_found",
        ("doors/http/edge.py", "route=exchange.template, status=status", "route=exchange.path, status=status"),
    ),
    mutant(
        "rows that are not counted",
        "cli/test_backup.py::test_rows_that_are_not_as_promised_undo_everything",
        ("platform/backups/store.py", "<> {expected} then ", "< 0 then "),
    ),
)
