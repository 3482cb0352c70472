-- openslot: no transaction
-- The indexes that periodic jobs and deletes need in large tables, and the counts of bookings that were there before.

-- A place in the feed may outlive its event: who has read up to there can go on from it as long as all that follows is kept.
alter table event_feed drop constraint if exists event_feed_event_id_fkey;
-- Nobody asks for an effect's children, and to find none took a look at every effect there is.
alter table effects drop constraint if exists effects_parent_id_fkey;

-- Each effect is updated about three times: a fifth of a large table is too much to be left lying about.
alter table effects set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table events set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- In place of effects_due: the state as well, so that counting reads the index alone.
create index concurrently if not exists effects_next_try on effects (next_try_at) include (state)
    where state in ('queued', 'running');
drop index concurrently if exists effects_due;

create index concurrently if not exists lanes_empty on lanes (lane) where unfinished <= 0;

-- In place of claims_event_type and claim_seats_claim, which knew the active ones only: a delete asks for all.
create index concurrently if not exists claims_type on claims (event_type_id, starts_at);
drop index concurrently if exists claims_event_type;
create index concurrently if not exists claim_seats_session on claim_seats (claim_id);
drop index concurrently if exists claim_seats_claim;

-- What is left of holds and of sessions that nobody sits in.
create index concurrently if not exists claims_left_holds on claims (expires_at) where kind = 'hold' and not active;
create index concurrently if not exists claims_left_sessions on claims (ends_at) where kind = 'session' and not active;
create index concurrently if not exists claim_seats_left_holds on claim_seats (expires_at)
    where not active and expires_at is not null;

create index concurrently if not exists webhook_endpoints_previous on webhook_endpoints (previous_until)
    where previous_until is not null;

-- One host at a time, under the lock that every change of the host's bookings holds. What older processes change meanwhile
-- is counted by the triggers; what they had counted before is written over.
do $$
declare
    host record;
begin
    for host in select id, no from users order by no loop
        set local synchronous_commit = off;
        -- Nobody queues up behind it who would not wait for this host's lock anyway.
        set local lock_timeout = '60s';
        perform from users where id = host.id for key share;
        if found then
            perform pg_advisory_xact_lock(1, host.no::int);
            delete from booking_counts where host_id = host.id;
            insert into booking_counts (host_id, status, bookings)
            select host_id, status, count(*) from bookings where host_id = host.id group by host_id, status;
        end if;
        commit;
    end loop;
end $$;
