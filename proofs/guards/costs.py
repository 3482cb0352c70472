"""Guards of what one causes for others: times, messages, mail and money, and who somebody is."""

from proofs.guards.models import Mutant, mutant

TOLL_FRAUD = "domains/messaging/sending/test_toll_fraud.py"

OF_COSTS: tuple[Mutant, ...] = (
    mutant(
        "an offer of which nobody is told",
        "domains/wait_list/test_wait_list.py"
        "::test_an_offer_whose_mail_fails_for_good_ends_at_once_and_the_next_is_offered_the_time",
        ("domains/mail/reactions.py", ", unless_done=plan_end_of_untold)", ")"),
    ),
    mutant(
        "a calendar that is closed by who does not pay",
        "domains/payments/test_shares.py::test_strangers_who_do_not_pay_leave_free_times_that_others_can_book",
        (
            "domains/bookings/operations.py",
            "    await shares.check(work, claimed, is_booked=True)\n",
            "",
        ),
    ),
    mutant(
        "a share that keeps others out",
        "domains/payments/test_shares.py::test_strangers_who_do_not_pay_leave_free_times_that_others_can_book",
        ("domains/availability/shares.py", "FIRST_SHARES = 2", "FIRST_SHARES = 1"),
    ),
    mutant(
        "a group event that uses up all confirmations",
        "domains/mail/test_reserved.py::test_seats_of_one_group_event_leave_confirmations_to_other_event_types",
        ("domains/mail/rules.py", "KEPT_FOR_OTHERS = 25", "KEPT_FOR_OTHERS = 0"),
    ),
    mutant(
        "a list that one domain owns",
        "domains/wait_list/test_causes.py::test_addresses_of_one_domain_do_not_own_the_list",
        ("domains/wait_list/rules.py", " and of_domain < MAX_OF_DOMAIN", ""),
    ),
    mutant(
        "a list that one network fills",
        "domains/wait_list/test_causes.py::test_a_network_joins_so_many_lists_of_a_host_and_others_still_can",
        (
            "domains/wait_list/operations.py",
            "    await spend(work, Cost.WAIT_LIST, causes, scope=str(entry.host_id), host_id=entry.host_id)\n",
            "",
        ),
    ),
    mutant(
        "a crowd for which everybody waits",
        "domains/wait_list/test_crowds.py::test_who_cancels_waits_for_nobody_who_waits_for_other_days",
        ("domains/wait_list/offers.py", "hand_out(work, host_id, days=freed)", "hand_out(work, host_id)"),
    ),
    mutant(
        "migrations among the tables of another program",
        "cli/test_refusals.py::test_a_database_of_another_program",
        ("platform/core/migrate.py", "and relkind in ('r', 'p')", "and false"),
    ),
    mutant(
        "two spellings that are one address",
        "hostile/test_folding.py::test_two_spellings_book_and_wait_as_one",
        ("domains/wait_list/offers.py", "offered.add(each.address)", "offered.add(each.entry.email.lower())"),
    ),
    mutant(
        "a group whose deletion cancels",
        "doors/scim/test_group_bookings.py::"
        "test_a_group_that_is_deleted_by_mistake_keeps_its_bookings_and_is_what_it_was_if_it_is_created_again",
        ("doors/scim/groups/operations.py", "if not kept:", "if kept >= 0:"),
    ),
    mutant(
        "an open account that keeps somebody out",
        "doors/web/sign_up/test_provided_addresses.py::test_who_reads_the_mail_gets_an_open_account_and_is_asked_to_join",
        (
            "domains/accounts/store.py",
            "p.profile is not null and not p.pending) end",
            "p.profile is null and not p.pending) end",
        ),
    ),
    mutant(
        "a name that is a part of a word",
        "domains/people/deletions/test_what_remains.py::test_only_reasons_that_name_somebody_as_whole_words_are_erased",
        (
            "platform/core/text.py",
            "if not (_is_one_word(before, name[:1]) or _is_one_word(after, name[-1:])):",
            "if True:",
        ),
    ),
    mutant(
        "messages to every country",
        f"{TOLL_FRAUD}::test_two_hundred_messages_to_a_dear_country_are_not_sent",
        (
            "platform/core/countries.py",
            "return EVERY in countries or find_country(phone) in list_allowed(number, countries)",
            "return bool(phone)",
        ),
    ),
    mutant(
        "somebody known by a booking that anybody could make",
        "domains/bookings/test_strangers.py::test_a_new_account_makes_nobody_known_by_what_it_can_do_itself",
        ("domains/bookings/strangers/store.py", "or $3 and exists (", "or ($3 or true) and exists ("),
    ),
    mutant(
        "a mail domain that its name locks out",
        "domains/allowances/test_codes.py::test_nobody_locks_a_mail_domain_out_by_naming_it",
        ("domains/allowances/rules.py", "return sum(spent) <= max(1, most // LITTLE)", "return False"),
    ),
    mutant(
        "new phones that nobody counts",
        f"{TOLL_FRAUD}::test_one_network_causes_messages_to_two_unproven_numbers_an_hour",
        (
            "domains/bookings/strangers/operations.py",
            "return await has_spent(work, Cost.MESSAGE, causes, host_id=host_id)",
            "return True",
        ),
    ),
    mutant(
        "strangers without a half",
        f"{TOLL_FRAUD}::test_strangers_from_everywhere_use_up_half_and_the_host_still_replies",
        ("domains/messaging/sending.py", "(sent.of_host, settings.limit_messages // 2),", ""),
    ),
    mutant(
        "a number without a limit",
        f"{TOLL_FRAUD}::test_a_number_of_several_hosts_has_a_limit_of_its_own",
        ("domains/messaging/sending.py", "(sent.of_number, settings.limit_messages_number),", ""),
    ),
    mutant(
        "an account by membership",
        "domains/payments/test_named_accounts.py::test_joining_an_organization_that_connected_earlier_does_not_move_the_money",
        (
            "domains/payments/connections/store.py",
            "join event_types e on e.payment_connection_id = c.id",
            "join event_types e on true",
        ),
        (
            "domains/payments/connections/store.py",
            'where m.user_id = e.owner_id and m.active))"""',
            'where m.user_id = e.owner_id and m.active)) order by c.connected_at, c.id limit 1"""',
        ),
    ),
    mutant(
        "a number by membership",
        "domains/messaging/test_host_numbers.py::test_joining_an_organization_that_connected_earlier_changes_no_number",
        (
            "domains/messaging/connections/store.py",
            """from host_numbers n join messaging_connections c on c.id = n.connection_id
where n.user_id = $1 and {MAY_USE}""",
            """from host_numbers n join messaging_connections c on c.channel = n.channel
where n.user_id = $1 and {MAY_USE}""",
        ),
        (
            "domains/messaging/connections/store.py",
            'FOR_HOST = f"{ALL_FOR_HOST} and n.channel = $2"',
            'FOR_HOST = f"{ALL_FOR_HOST} and n.channel = $2 order by c.connected_at, c.id limit 1"',
        ),
    ),
    mutant(
        "a code that costs nothing",
        "domains/allowances/test_ways_to_mail.py::test_who_has_used_the_allowance_up_has_nobody_mailed",
        ("domains/access/email_codes.py", "await spend(work, Cost.CODE, causes, host_id=host_id)", "del causes"),
    ),
    mutant(
        "a confirmation that strangers keep back",
        "domains/mail/test_reserved.py::test_strangers_who_use_up_a_hosts_part_keep_the_confirmation_from_nobody_else",
        ("domains/mail/operations.py", " or draft.is_reserved:", ":"),
    ),
    mutant(
        "an account that waits behind another",
        "platform/jobs/test_turns.py::test_others_do_not_wait_for_what_one_has_waiting",
        ("platform/core/queue_order.py", "order by next_try_at limit $3::int / 4))", "order by next_try_at limit 0))"),
    ),
)
