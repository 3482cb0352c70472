-- openslot: no transaction
-- The sentences of the baseline on tables, functions and triggers, and constraints that were not validated when they were
-- added: with these, a database that began with 0.1.0 has the schema of one that began with 0.2.0.

alter table bookings validate constraint bookings_status_check;
alter table claims validate constraint claims_kind_check;
alter table assignments validate constraint assignments_reason_check;
alter table credit_entries validate constraint credit_entries_reason_check;

comment on table account_deletions is
    'Accounts that their owners delete: closed at once, and erased when everything that follows from it has '
    'happened. The row stays after the user''s is gone, as a record without personal data; so it references '
    'nothing.';
comment on table active_hosts is
    'The hosts with whom bookings were made on a day, as bits: bit n of block b stands for the host whose number '
    'is b * 1024 + n.';
comment on table address_changes is
    'New addresses that users have asked for and that wait for the link in the mail to be used; one works only '
    'while the account has the address and the password that it had when it was asked for.';
comment on table agent_calls is
    'Every call of a tool, also a refused one; each record is signed together with the one before it.';
comment on table agent_calls_begun is
    'Calls of tools that run without a transaction, until they end: if the process dies, their audit record is '
    'written from here.';
comment on table agent_chain is
    'How long the chain of calls is and how it ends, signed too, so that records can''t be cut off at the end.';
comment on table agent_emails is
    'The log of agents'' emails; the message''s own entry in mail_messages appears with the first try.';
comment on table agent_images is
    'Images that agents have had made, until they expire. They are compressed already, so the database does not '
    'try again.';
comment on table agent_keys is 'Keys of the platform''s agents.';
comment on table agent_reservations is 'What calls that are under way may still spend.';
comment on table agent_spend is 'What agents have spent on a day.';
comment on table agents is 'The agents, and how much each may do by itself.';
comment on table allowance_refusals is 'Which costs of a host''s page were last refused, for the host who is told.';
comment on table allowances is
    'How much one cause has spent of one cost within a sliding window. What is not spent again is removed when it '
    'is over.';
comment on table api_keys is 'Users'' keys for the API.';
comment on table approvals is 'Calls that wait for an approval or were decided.';
comment on table assignments is
    'Each choice of hosts, with everything that it was made of, so that it can be made again.';
comment on table assistant_approvals is 'Calls that wait for the user''s approval, or were decided.';
comment on table assistant_calls is
    'Every call of a tool, carried out or refused, as its user reads it; without texts and addresses of people.';
comment on table assistant_clients is
    'Programs that may ask for a connection: a copy of the document at their address, or what they have '
    'registered.';
comment on table assistant_codes is
    'Codes that a program exchanges for tokens, once; a used one is kept, because its second use ends the '
    'connection.';
comment on table assistant_grants is
    'What a user has allowed a program; the access token is replaced each time it is refreshed.';
comment on table assistant_refresh_tokens is
    'Tokens by which a connection gets its next access token, each once; a second use ends the connection.';
comment on table authenticators is 'Authenticator apps for the second factor.';
comment on table booking_counts is
    'How many bookings of each status a host has. The database keeps it itself, so that no process can forget to. '
    'Whoever changes a host''s bookings holds the host''s lock already: nobody waits for these rows.';
comment on table booking_history is
    'What happened to a booking, when and by whom, once the events themselves are too old to be kept.';
comment on table booking_hosts is 'Who hosts a booking of a team''s event type, and the claim that takes their time.';
comment on table booking_link_uses is
    'Which bookings were made through a link. One that ended before it was a booking has given its use back.';
comment on table booking_links is
    'Links through which an event type can be booked a number of times; a host gives them to somebody. The token '
    'in the address opens the event type, a private one too.';
comment on table booking_requests is
    'What an invitee has asked for and the host has to confirm. The booking waits as PENDING_CONFIRMATION, with '
    'its time taken; it stays so if the request ends in any other way than by a confirmation.';
comment on table bookings is 'Each booking, with the invitee as they were when they booked.';
comment on table brand_images is
    'The logo and the cover of a host''s pages, re-encoded like photos; the hash is also the address.';
comment on table brands is 'The name, color and logo of a user or an organization.';
comment on table busy_sources is 'Where busy spans come from: a calendar of somebody else''s, read now and then.';
comment on table busy_spans is
    'When a host is busy by a foreign calendar; a span is known by its source and the name that the source has for '
    'it.';
comment on table calendar_channels is
    'Where a calendar''s server sends a notice when something has changed, so that it is read earlier.';
comment on table calendar_connections is 'Accounts at calendar servers, and addresses of calendar files.';
comment on table calendar_events is 'Bookings as they were last written into a calendar.';
comment on table calendar_feeds is 'Secret links to a user''s own bookings as a calendar; only the hash is kept.';
comment on table calendar_invitations is
    'One row for each booking that a calendar invites to, so that Openslot''s own mails have no invitation; for '
    'all others, Openslot invites.';
comment on table calendar_objects is
    'What was read of each event, without title, notes and guests: enough to say again when it repeats.';
comment on table calendars is 'The calendars of a connection; one calendar of a user receives bookings.';
comment on table call_notices is 'Which notices of a call have arrived, so that each counts once.';
comment on table call_recordings is
    'Recordings of calls that are not known yet, because the provider tells of both in any order.';
comment on table calls is 'Each call; one without a status is still running.';
comment on table change_log is 'Who changed what, when, from which address, and the changed fields before and after.';
comment on table chat_messages is 'What the team chat was told, or would have been.';
comment on table claim_seats is 'Who sits in a group session: a booking, or a hold until it expires.';
comment on table claims is
    'Time of a host that is held, booked or offered, or waits for a payment or a confirmation, or a group session.';
comment on table contact_counts is
    'How many contacts there are, as the sum of all rows. The database keeps it itself, so that no process can '
    'forget to. Each connection counts in a row of its own, by its process: nobody who adds a contact waits for '
    'another who does.';
comment on table contact_import_lines is 'The lines of a file of contacts.';
comment on table contact_imports is 'Files of contacts that are being imported or were imported.';
comment on table contacts is 'A host''s contacts.';
comment on table conversations is 'One thread of a user with one number on one channel.';
comment on table credit_entries is 'Every change of a credit, and of how many bookings a host has.';
comment on table crm_connections is 'CRMs that hosts have connected.';
comment on table crm_meetings is 'Which meeting of a CRM is which booking.';
comment on table daily_figures is 'What was counted on a day; docs/analytics.md has every name and key.';
comment on table data_export_pieces is
    'The file of an export in pieces, each sealed, so that every web process can send it.';
comment on table data_exports is 'Exports that were asked for.';
comment on table data_keys is
    'The keys that sign links and seal what is stored, themselves sealed by the secret key. The first one signs, '
    'every one verifies.';
comment on table departures is
    'Who left an organization by a provider''s word, and when: many in an hour look like a mistake.';
comment on table domains is 'Domains that organizations claim; only one can verify a domain.';
comment on table effects is
    'Each reaction to an event, or what is planned for a time: its tries, and how it ended. Workers take what is '
    'due from here.';
comment on table email_codes is 'Codes by mail with which invitees prove their address before they book.';
comment on table event_feed is
    'The order in which events became visible: numbers without gaps, given at the commit under the tenant''s lock, '
    'so that whoever sees one number can see every lower one. A place may outlive its event: who has read up to '
    'there can go on from it as long as all that follows is kept.';
comment on table event_feeds is
    'The last number of each tenant''s feed; its row is the lock under which numbers are given.';
comment on table event_types is 'Kinds of meetings that a host or a team offers.';
comment on table events is
    'Each event with the whole fact as it was, and with what the outside is told (`public`, which keeps the order '
    'of its fields).';
comment on table failed_items is
    'What a job or a consequence could not do for one of the many that it serves; gone when that one succeeds.';
comment on table finished_oidc_sign_ins is
    'Sign-ins through a provider that were finished: what comes back a second time is refused until it has expired '
    'anyway.';
comment on table flag_overrides is 'Flags that one user has otherwise than everyone.';
comment on table flag_version is
    'Every process keeps the flags in memory and reads them again when the version differs. Whoever changes a flag '
    'changes the version, and it never has the same value twice: not even after a rollback.';
comment on table flags is 'The flags, on or off for everyone.';
comment on table former_usernames is
    'Former usernames: reserved for their owner for 180 days, and nobody''s for as long once the account is '
    'deleted.';
comment on table funnel_steps is
    'Each step of an account that was opened by the form, once. Before the account is opened, a row has the id of '
    'its sign-up. There is no reference to the account: what was counted stays when the account is deleted, and '
    'names nobody then.';
comment on table funnel_visits is 'Visits of the sign-up form: counts only, nothing about who visits.';
comment on table held_departures is
    'Leavers whose bookings stay until an administrator decides; those who were removed can be brought back as '
    'they were.';
comment on table held_effects is
    'Messages that wait because their channel is stopped, or have waited; those that were sent afterwards are '
    'deleted from here.';
comment on table held_hosts is 'The claims of a held time of a team; the hold has the id of the first one.';
comment on table host_changes is
    'Each change of a host''s time leaves a token here, whoever makes it: what was found out about the host may be '
    'kept for as long as the tokens are the same. Rows are only inserted, so that writers never wait for each '
    'other; when a host has many, a job replaces all that it sees by one (decision 72).';
comment on table host_group_members is 'Who belongs to such a group, and how far each is behind their share.';
comment on table host_groups is 'The groups of a team''s event type, of each of which a number of hosts is picked.';
comment on table host_numbers is
    'The number that a host writes from on each channel: joining or leaving an organization does not change it. '
    'One that was disconnected, or whose organization the host has left, is not used; it is no foreign key, '
    'because one that was deleted stays named until the host chooses another one.';
comment on table idempotency is 'Answers to requests with an Idempotency-Key, kept for retries.';
comment on table identities is 'Who a user is at an identity provider.';
comment on table invitations is 'Invitations of users to organizations, by the hash of their link.';
comment on table kept_days is
    'Days in UTC that were counted: once they were over, and again when something of them has changed.';
comment on table lanes is 'How many effects of a lane are unfinished; the row''s own update is what orders them.';
comment on table mail_limits_reached is
    'Which part of the mail that the public may set off for a host was used up, when last, and when the host was '
    'told.';
comment on table mail_messages is 'The log of mails, and the embedded mailbox.';
comment on table marketing_recipients is
    'Addresses that marketing mail has gone to; a link to unsubscribe names one of them.';
comment on table member_counts is
    'How many members an organization has: a list tells it at every page, and must not count anew.';
comment on table member_profiles is
    'What an identity provider says about a member. The text is kept as it is (json, not jsonb), and the time of '
    'joining is here once more: a list of many members is put together from these rows alone.';
comment on table memberships is 'Who belongs to which organization.';
comment on table message_consents is
    'Who has agreed to get reminders and follow-ups by message, and to what. Without a row nobody has agreed.';
comment on table message_erasures is
    'What is to be deleted at the provider, because it was deleted here. The token is kept, sealed, until it is '
    'done.';
comment on table message_media is 'Files that came with a message; they stay at the provider.';
comment on table message_opt_outs is
    'Who has asked for no more messages from the numbers of a user or an organization, on whichever channel.';
comment on table messages is 'What was said in a thread.';
comment on table messaging_connections is
    'A number at a message provider: of a user, or of an organization for its members. One that was disconnected '
    'stays for the messages that it carried, without its token.';
comment on table notification_choices is
    'Which mails a host has switched on or off; without a row the default holds.';
comment on table oauth_attempts is
    'A consent that a session has begun; the vendor sends the state back, of which only the hash is kept.';
comment on table oauth_grants is 'What the owner of a connection has allowed; the id is the connection''s.';
comment on table organization_settings is
    'What happens to the bookings of those who leave an organization by a provider''s word, and what the '
    'assistants of its members may do.';
comment on table organizations is 'Groups of users with a plan, verified domains and administrators.';
comment on table out_of_office is 'When a host is away from every schedule at once.';
comment on table page_views is 'Visits of public pages, and from where: counts only, nothing about who visits.';
comment on table password_resets is
    'Links to choose a new password; one works only while the account has the address that it was sent to and the '
    'password that it had then.';
comment on table payment_connections is
    'A connection to an account of a payment provider: of a user, or of an organization for its members. One that '
    'was disconnected stays for the payments that it took, without its key.';
comment on table payment_endings is
    'What is still to be done at the payment provider for connections that are gone: endpoints to remove, and '
    'checkouts that nobody may pay for any more. The key is kept, sealed, until it is done.';
comment on table payment_notices is
    'What the provider has told, each once, until it was looked at: which payment is to be read anew.';
comment on table payments is
    'The payment of a booking. The booking waits for it as PENDING_PAYMENT, with its time taken.';
comment on table pending_sign_ins is 'Sign-ins whose first factor was right and whose second is still missing.';
comment on table periodic_runs is 'The last run of each periodic job.';
comment on table photos is 'Users'' photos; `users.photo` is the hash, which is also the photo''s address.';
comment on table plan_prices is 'Prices of plans as the provider has them.';
comment on table rate_log is
    'Sliding logs of who came how often. Lost after a crash on purpose: a limit that forgets a minute is better '
    'than one that costs a flush.';
comment on table recovery_codes is 'Codes that replace a lost authenticator app, each of them once.';
comment on table refunds is
    'Money that goes back to a payer: asked for here, or in the provider''s own pages (then without a step of '
    'ours).';
comment on table reminder_settings is
    'When invitees are reminded: a host''s own choice, or one event type''s; without either the default holds.';
comment on table revenue is 'What a host has received and given back on a day in UTC, by currency.';
comment on table schedules is 'Weekly hours with their exceptions.';
comment on table scim_requests is 'The log of providers'' requests.';
comment on table scim_tokens is 'Organizations'' tokens for their identity providers.';
comment on table sent_invitations is
    'Invitations that were sent, counted for a week. Nothing refers to users or organizations, so that neither '
    'withdrawing an invitation nor deleting an account or an organization makes room for more.';
comment on table sessions is 'Signed-in browsers.';
comment on table setup_links is 'The link by which the first account is opened.';
comment on table sign_ups is
    'What somebody has typed in the sign-up form; there is no account before the link in the mail is used.';
comment on table stale_days is
    'Days of which something has changed since. Rows are only added, so that nobody waits for another; the job '
    'that counts the day again removes those that it has seen.';
comment on table subscribers is
    'A user or an organization with its subscription at the payment provider, or with the checkout where one can '
    'begin. A row outlives its owner until the subscription is cancelled.';
comment on table subscription_feed is
    'Up to when the provider''s list of what happened to subscriptions was read, and what of it can come again.';
comment on table switches is
    'Which channels of outgoing messages are stopped, since when, by whom and why. All rows are there from the '
    'beginning: whoever lets an effect wait locks the channel''s row, so that it can''t be resumed at the same '
    'moment.';
comment on table team_members is 'Who belongs to a team.';
comment on table team_rules is 'How the hosts of a team''s event type are chosen.';
comment on table teams is 'Teams of organizations.';
comment on table users is 'People with an account.';
comment on table wait_list_entries is 'Who waits for a day or a session that is full.';
comment on table wait_list_offers is
    'A free time that is kept for one person. Its time is a claim of kind ''offer'', or a seat of a session.';
comment on table wait_list_turns is
    'When the minute''s job last looked at those who wait for a host, and after whom it goes on; null: from the '
    'first.';
comment on table webhook_deliveries is 'Each try to send an event to an endpoint, and what it answered.';
comment on table webhook_endpoints is 'Where a user''s events are sent.';
comment on table webhook_messages is
    'The bytes of an event''s body: made once, the same for every endpoint and in every try.';
comment on table worker_beats is
    'The workers that run, and when each was last heard of by the database''s own clock.';
comment on table wrong_passwords is
    'Wrong passwords, so that guessing gets slower with each: of an account by all strangers together, of one of '
    'its owner''s devices, of a session. Lost after a crash on purpose, as rate_log is.';

comment on function canonical_recipient is
    'One mailbox has many addresses: limits count letter case, a tag behind `+`, and dots at Gmail as the same '
    'recipient. Stored addresses, and those that mail is sent to, stay as they are.';
comment on function change_flag_version is
    'Gives the flags another version, by which every process notices that it must read them again.';
comment on function change_shown_members is
    'A member whom no provider has described changes with the account. A membership may end, with its '
    'organization, while the account of the member is renamed.';
comment on function claim_hosts is
    'Takes the time of hosts of a team in one round trip: some are locked, in the given order, and the claims are '
    'inserted if nobody of those who were read before has another version by then, or has left since (decision '
    '69). Each of its statements begins when the locks are held, so it sees all that was committed before them. If '
    'the answer is no, nothing was done, and the locks are given back.';
comment on function contact_gram is
    'A trigram as a number whose upper half is the owner''s: so one index serves each owner as if it were the '
    'owner''s own, whoever else has how many. Two trigrams that share a number cost a look at the row, never a '
    'wrong answer.';
comment on function contact_grams is
    'The trigrams of every line; too dear to be worked out for each row that a search looks at.';
comment on function count_added_bookings is
    'Counts bookings that were added into booking_counts, by host and status, so that no process can forget to.';
comment on function count_added_contacts is 'Counts contacts that were added, so that no process can forget to.';
comment on function count_added_members is
    'Counts members who were added into member_counts, so that no process can forget to.';
comment on function count_changed_booking is 'Moves a booking in booking_counts from one host or status to another.';
comment on function count_contacts is
    'Adds to the number of contacts, in the row of this connection alone: nobody who adds a contact waits for '
    'another who does.';
comment on function count_deleted_bookings is
    'Takes bookings that were deleted out of booking_counts. It only updates: with its host''s account, a host''s '
    'counts may be gone before the bookings are.';
comment on function count_deleted_contacts is 'Takes contacts that were deleted off their number.';
comment on function count_deleted_members is
    'Takes members who were removed out of member_counts. It only updates: with its organization, the count may be '
    'gone before the members are.';
comment on function count_no_bookings is 'Empties booking_counts with the bookings.';
comment on function count_no_contacts is 'Empties contact_counts with the contacts.';
comment on function count_no_members is 'Empties member_counts with the memberships.';
comment on function delete_unpaid_bookings is
    'Deletes bookings that nobody paid for, and nobody can pay for any more, and requests that have ended without '
    'a booking: they do not keep their event type from being deleted.';
comment on function drop_private_notes is
    'Drops what the host has noted about a person together with the contact. A contact that is deleted leaves its '
    'bookings by the foreign key, so the database sees to it itself.';
comment on function forget_events is
    'Whoever deletes an event leaves a line in its booking''s history, and ends the feed in front of it: from a '
    'place that is still there, nothing is missing.';
comment on function forget_kept_days is
    'Empties what was counted of days: whoever empties a table of which something was counted empties that too.';
comment on function hash_username is
    'Names a former username without keeping it: all that is left of a deleted account.';
comment on function keep_booked_seat is
    'Refuses to switch off a seat while it is that of a confirmed booking. It runs at the commit, when a '
    'cancellation has reached the booking as well.';
comment on function keep_booked_time is
    'Refuses to switch off a claim while it is the time of a host of a confirmed booking: such a booking never '
    'loses its time, whoever writes. It runs at the commit, when a cancellation has reached the booking as well.';
comment on function keep_connection_erasures is
    'Writes down that everything that went through a user''s own number is to be deleted at the provider, '
    'whichever row is deleted first. What went through an organization''s number belongs to its hosts, and stays '
    'with them.';
comment on function keep_message_erasure is
    'Writes down that a message is to be deleted at its provider. Whoever deletes a thread, an account or what is '
    'known of a person need not know the provider.';
comment on function keep_payment_ending is
    'Writes down what is still to be done at the payment provider for a connection that is deleted. Whoever '
    'deletes an account or an organization need not know that it was connected.';
comment on function keep_recording_erasure is
    'Writes down that the recording and the transcript of a call are to be deleted at the provider. It runs before '
    'the deletion: with a user, the calls go first, and what comes after finds no connection any more.';
comment on function keep_username_of_deleted is
    'Reserves the username of a deleted account for nobody, so that its links lead to no stranger.';
comment on function mark_added_booking is
    'Marks the days on which a new booking counts: that on which it was made, that of its cancellation, and that '
    'of its start.';
comment on function mark_added_user is 'Marks the day on which an account was opened.';
comment on function mark_changed_booking is
    'Marks only the days whose figures a changed booking changes: most bookings are changed some time after they '
    'were made. One that had to be paid or confirmed counts on the day on which it was asked for.';
comment on function mark_deleted_bookings is 'Marks the days on which deleted bookings had counted.';
comment on function mark_deleted_revenue is 'Marks the days of revenue that was deleted.';
comment on function mark_deleted_users is 'Marks the days on which deleted accounts had been opened.';
comment on function mark_deleted_views is 'Marks the days of visits that were deleted.';
comment on function mark_revenue is 'Marks the day of a revenue that was written later.';
comment on function mark_stale_days is
    'Marks days to be counted again; what of today changes is counted tomorrow. A row of another transaction does '
    'not do: it may be removed by a count that has not seen what this transaction changes.';
comment on function mark_views is 'Marks the day of visits that were counted later.';
comment on function name_number_of_connection is
    'Names a number that was connected: whoever connects it uses it; members of an organization that connects one '
    'use it if they have named none.';
comment on function name_number_of_member is 'Names the numbers of an organization for a member who has named none.';
comment on function name_payment_account is
    'Names the account that invitees pay to. Who sets a price without naming an account gets the one that is '
    'theirs to use now: their own, or else the one that an organization of theirs has connected first.';
comment on function note_hosts is 'Leaves a token for the hosts whose rows have changed.';
comment on function note_hosts_of_claims is 'Leaves a token for the hosts whose active claims have changed.';
comment on function note_hosts_of_seats is 'Leaves a token for the hosts of the sessions whose seats have changed.';
comment on function note_owners is 'Leaves a token for the owners of rows that have changed.';
comment on function number_event is
    'Gives an event the next number of its tenant''s feed. It runs at the commit, under the lock of the feed''s '
    'row, so that the order of the numbers is the order in which events become visible.';
comment on function reserve_username is
    'Refuses a username that is reserved for somebody else, and reserves the one that was given up. Runs after the '
    'row is in the unique index: whoever had the name in a transaction that was still running has committed by '
    'then, and what that transaction has reserved is seen here.';
comment on function take_turn is
    'Whoever changes the same thing takes turns, by an advisory lock until the commit. A transaction that can be '
    'run again (`openslot.turns = refuse`) is told at once whose turn it would have to wait for, so that it can '
    'wait without a connection; every other waits here.';
comment on function utc_day is 'Tells on which day in UTC a moment is.';

comment on trigger bookings_added on bookings is 'The number of bookings is counted as they are made.';
comment on trigger bookings_changed on bookings is
    'The number of bookings is counted as their status or host changes.';
comment on trigger bookings_changed_later on bookings is
    'A booking of a day that is over is counted there anew when it changes.';
comment on trigger bookings_contact_deleted on bookings is
    'A booking that loses its contact loses what the host has noted about the person.';
comment on trigger bookings_deleted on bookings is 'The number of bookings is counted as they are deleted.';
comment on trigger bookings_deleted_later on bookings is
    'Days that are over are counted without bookings that were deleted.';
comment on trigger bookings_emptied on bookings is 'Without any bookings, nothing that was counted holds.';
comment on trigger bookings_made_earlier on bookings is 'A booking of a day that is over is counted there too.';
comment on trigger bookings_truncated on bookings is 'The number of bookings is gone with all of them.';
comment on trigger busy_sources_host_deleted on busy_sources is 'What is known of free times is worked out anew.';
comment on trigger busy_sources_host_inserted on busy_sources is 'What is known of free times is worked out anew.';
comment on trigger busy_sources_host_updated_from on busy_sources is
    'What is known of free times is worked out anew.';
comment on trigger busy_sources_host_updated_to on busy_sources is 'What is known of free times is worked out anew.';
comment on trigger busy_spans_host_deleted on busy_spans is 'What is known of free times is worked out anew.';
comment on trigger busy_spans_host_inserted on busy_spans is 'What is known of free times is worked out anew.';
comment on trigger busy_spans_host_updated_from on busy_spans is 'What is known of free times is worked out anew.';
comment on trigger busy_spans_host_updated_to on busy_spans is 'What is known of free times is worked out anew.';
comment on trigger recording_is_kept_for_erasure on calls is
    'The recording and the transcript of a call that is deleted here are deleted at the provider too.';
comment on trigger claim_seats_host_deleted on claim_seats is 'What is known of free times is worked out anew.';
comment on trigger claim_seats_host_inserted on claim_seats is 'What is known of free times is worked out anew.';
comment on trigger claim_seats_host_updated_from on claim_seats is 'What is known of free times is worked out anew.';
comment on trigger claim_seats_host_updated_to on claim_seats is 'What is known of free times is worked out anew.';
comment on trigger claim_seats_keep_booked_seat on claim_seats is
    'The seat of a confirmed booking can''t be given back.';
comment on trigger claims_host_deleted on claims is 'What is known of free times is worked out anew.';
comment on trigger claims_host_inserted on claims is 'What is known of free times is worked out anew.';
comment on trigger claims_host_updated_from on claims is 'What is known of free times is worked out anew.';
comment on trigger claims_host_updated_to on claims is 'What is known of free times is worked out anew.';
comment on trigger claims_keep_booked_time on claims is 'The time of a confirmed booking can''t be given back.';
comment on trigger contacts_added on contacts is 'The number of contacts is counted as they are added.';
comment on trigger contacts_deleted on contacts is 'The number of contacts is counted as they are deleted.';
comment on trigger contacts_truncated on contacts is 'The number of contacts is gone with all of them.';
comment on trigger event_type_ends on event_types is
    'An event type can be deleted although somebody has asked for it and never got a booking.';
comment on trigger event_type_names_account on event_types is
    'An event type that has a price names the account that it is paid to.';
comment on trigger events_deleted on events is
    'An event that is deleted leaves a line in its booking''s history, and ends the feed in front of it.';
comment on trigger events_numbered on events is
    'Events that the outside is told of get their place in the tenant''s feed at the commit.';
comment on trigger flag_overrides_changed on flag_overrides is
    'Every process notices that one user has a flag otherwise.';
comment on trigger flags_changed on flags is 'Every process notices that a flag has changed.';
comment on trigger membership_names_number on memberships is
    'Who joins an organization writes from its numbers, unless they have named others.';
comment on trigger memberships_added on memberships is 'The number of members is counted as they are added.';
comment on trigger memberships_deleted on memberships is 'The number of members is counted as they leave.';
comment on trigger memberships_truncated on memberships is 'The number of members is gone with all of them.';
comment on trigger message_is_erased on messages is 'A message that is deleted here is deleted at its provider too.';
comment on trigger connection_is_erased on messaging_connections is
    'With a user''s own number, what went through it is deleted at the provider too.';
comment on trigger messaging_connection_names_number on messaging_connections is
    'Whoever connects a number writes from it.';
comment on trigger out_of_office_host_deleted on out_of_office is 'What is known of free times is worked out anew.';
comment on trigger out_of_office_host_inserted on out_of_office is 'What is known of free times is worked out anew.';
comment on trigger out_of_office_host_updated_from on out_of_office is
    'What is known of free times is worked out anew.';
comment on trigger out_of_office_host_updated_to on out_of_office is
    'What is known of free times is worked out anew.';
comment on trigger page_views_changed_later on page_views is 'Visits of a day that is over are counted there too.';
comment on trigger page_views_deleted_later on page_views is
    'Days that are over are counted without visits that were deleted.';
comment on trigger page_views_emptied on page_views is 'Without any visits, nothing that was counted holds.';
comment on trigger payment_connection_ends on payment_connections is
    'A connection that is deleted leaves what is still to be done at the provider.';
comment on trigger revenue_changed_later on revenue is 'Revenue of a day that is over is counted there too.';
comment on trigger revenue_deleted_later on revenue is
    'Days that are over are counted without revenue that was deleted.';
comment on trigger revenue_emptied on revenue is 'Without any revenue, nothing that was counted holds.';
comment on trigger schedules_host_deleted on schedules is 'What is known of free times is worked out anew.';
comment on trigger schedules_host_inserted on schedules is 'What is known of free times is worked out anew.';
comment on trigger schedules_host_updated_from on schedules is 'What is known of free times is worked out anew.';
comment on trigger schedules_host_updated_to on schedules is 'What is known of free times is worked out anew.';
comment on trigger users_added on users is 'A new account can''t have a name that is reserved for somebody else.';
comment on trigger users_deleted on users is 'The name of a deleted account is given to nobody for a while.';
comment on trigger users_deleted_later on users is
    'Days that are over are counted without accounts that were deleted.';
comment on trigger users_emptied on users is 'Without any accounts, nothing that was counted holds.';
comment on trigger users_made_earlier on users is 'An account of a day that is over is counted there too.';
comment on trigger users_renamed on users is
    'A renamed account can''t have such a name either, and its former name stays reserved for it.';
comment on trigger users_shown_changed on users is
    'A member whom no provider has described is shown to the provider as the account is, so a change of the '
    'account is a new version of the member.';
