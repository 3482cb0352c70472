-- What happened, and the order in which others are told of it.

-- Each event with the whole fact as it was, and with what the outside is told (`public`, which keeps the order of its fields).
create table events (
    id uuid primary key,
    no bigint generated always as identity unique,
    type text not null,
    at timestamptz not null,
    actor jsonb not null,
    tenant_id uuid,
    subject_kind text not null,
    subject_id uuid,
    fact jsonb not null,
    public json
) with (
    -- A fact is a little larger than what PostgreSQL would keep as it is: to pack it took more than half of its insert
    -- and saved a tenth.
    toast_tuple_target = 8160,
    -- A fifth of a large table is too much to be left lying about.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);
create index events_tenant on events (tenant_id, no);
create index events_subject on events (subject_id, no);
create index events_at on events (at, no);
create index events_agent on events ((actor ->> 'agent'), at, no) where actor ->> 'agent' is not null;

-- The last number of each tenant's feed; its row is the lock under which numbers are given.
create table event_feeds (
    tenant_id uuid primary key,
    last_no bigint not null
);

-- The order in which events became visible: numbers without gaps, given at the commit under the tenant's lock, so that
-- whoever sees one number can see every lower one. A place may outlive its event: who has read up to there can go on from it
-- as long as all that follows is kept.
create table event_feed (
    tenant_id uuid not null,
    no bigint not null,
    event_id uuid not null unique,
    type text not null,
    primary key (tenant_id, no)
);

create function number_event() returns trigger language plpgsql as $$
begin
    with head as (
        insert into event_feeds as f (tenant_id, last_no) values (new.tenant_id, 1)
        on conflict (tenant_id) do update set last_no = f.last_no + 1
        returning last_no
    )
    insert into event_feed (tenant_id, no, event_id, type)
    select new.tenant_id, head.last_no, new.id, new.type from head;
    return null;
end $$;
create constraint trigger events_numbered after insert on events deferrable initially deferred
    for each row when (new.public is not null and new.tenant_id is not null) execute function number_event();

-- Whoever deletes an event leaves a line in its booking's history, and ends the feed in front of it: from a place that is
-- still there, nothing is missing.
create function forget_events() returns trigger language plpgsql as $$
begin
    insert into booking_history (booking_id, no, type, at, actor)
    select b.id, d.no, d.type, d.at, d.actor from deleted d join bookings b on b.id = d.subject_id
    where d.subject_kind = 'booking'
    for key share of b;
    delete from event_feed f
    using (select p.tenant_id, max(p.no) as no from deleted d join event_feed p on p.event_id = d.id group by p.tenant_id) l
    where f.tenant_id = l.tenant_id and f.no < l.no;
    return null;
end $$;
create trigger events_deleted after delete on events referencing old table as deleted
    for each statement execute function forget_events();
