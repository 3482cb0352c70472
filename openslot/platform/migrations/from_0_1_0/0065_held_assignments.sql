-- openslot: no transaction
-- Whether a ledger is settled depends on choices for holds: the few of a group are found beside all that were booked.
drop index concurrently if exists assignments_held;
create index concurrently assignments_held on assignments (group_id) where hold_id is not null;
