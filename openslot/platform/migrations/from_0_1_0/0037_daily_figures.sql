-- openslot: no transaction
-- What happened on the platform, by days in UTC: counted once a day is over, and again when something of that day has changed.

-- Days that were counted.
create table if not exists kept_days (
    on_day date primary key,
    counted_at timestamptz not null
);

-- What was counted on them; docs/analytics.md has every name and key.
create table if not exists daily_figures (
    on_day date not null references kept_days on delete cascade,
    name text not null,
    key text not null,
    amount bigint not null,
    primary key (on_day, name, key)
);

-- How many bookings were made with each host on them.
create table if not exists host_days (
    on_day date not null references kept_days on delete cascade,
    host_id uuid not null references users on delete cascade,
    bookings bigint not null,
    primary key (on_day, host_id)
);
create index if not exists host_days_host on host_days (host_id, on_day);

-- Days of which something has changed since. Rows are only added, so that nobody waits for another; the job that counts the
-- day again removes those that it has seen.
create table if not exists stale_days (
    on_day date not null
);
create index if not exists stale_days_day on stale_days (on_day);

-- Who counts a day reads these. The other tables have such an index already.
drop index concurrently if exists bookings_made;
create index concurrently bookings_made on bookings (created_at);
drop index concurrently if exists bookings_cancelled;
create index concurrently bookings_cancelled on bookings (cancelled_at) where cancelled_at is not null;
drop index concurrently if exists users_made;
create index concurrently users_made on users (created_at);
drop index concurrently if exists revenue_day;
create index concurrently revenue_day on revenue (day);
drop index concurrently if exists messages_age;
create index concurrently messages_age on messages (at);
drop index concurrently if exists calls_age;
create index concurrently calls_age on calls (started_at);

create or replace function utc_day(moment timestamptz) returns date language sql immutable strict parallel safe as $$
    select (moment at time zone 'UTC')::date
$$;

-- What of today changes is counted tomorrow. A row of another transaction does not do: it may be removed by a count that
-- has not seen what this transaction changes.
create or replace function mark_stale_days(days date[]) returns void language sql as $$
    insert into stale_days (on_day)
    select distinct changed.day from unnest(days) as changed (day)
    where changed.day < utc_day(clock_timestamp()) and not exists (
        select from stale_days s where s.on_day = changed.day and s.xmin = pg_current_xact_id()::xid)
$$;

-- A booking counts on the day on which it was made, on that of its cancellation, and on that of its start.
create or replace function mark_added_booking() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[utc_day(new.created_at), utc_day(new.cancelled_at), utc_day(new.starts_at)]);
    return null;
end $$;
-- Only the days whose figures change: most bookings are changed some time after they were made.
create or replace function mark_changed_booking() returns trigger language plpgsql as $$
declare
    days date[] := '{}';
begin
    if (old.status = 'PENDING_PAYMENT', old.created_at, old.host_id, old.source)
            is distinct from (new.status = 'PENDING_PAYMENT', new.created_at, new.host_id, new.source) then
        days := days || utc_day(old.created_at) || utc_day(new.created_at);
    end if;
    if old.cancelled_at is distinct from new.cancelled_at then
        days := days || utc_day(old.cancelled_at) || utc_day(new.cancelled_at);
    end if;
    if (old.status, old.starts_at, old.no_show) is distinct from (new.status, new.starts_at, new.no_show) then
        days := days || utc_day(old.starts_at) || utc_day(new.starts_at);
    end if;
    perform mark_stale_days(days);
    return null;
end $$;
create or replace function mark_deleted_bookings() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(
        select distinct day from deleted d
        cross join lateral (values (utc_day(d.created_at)), (utc_day(d.cancelled_at)), (utc_day(d.starts_at))) v (day)));
    return null;
end $$;
create or replace trigger bookings_made_earlier after insert on bookings
    for each row when (least(new.created_at, new.cancelled_at, new.starts_at) < date_trunc('day', clock_timestamp(), 'UTC'))
    execute function mark_added_booking();
create or replace trigger bookings_changed_later after update on bookings
    for each row when (
        (old.status, old.created_at, old.host_id, old.source, old.cancelled_at, old.starts_at, old.no_show)
        is distinct from
        (new.status, new.created_at, new.host_id, new.source, new.cancelled_at, new.starts_at, new.no_show))
    execute function mark_changed_booking();
create or replace trigger bookings_deleted_later after delete on bookings referencing old table as deleted
    for each statement execute function mark_deleted_bookings();

create or replace function mark_added_user() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[utc_day(new.created_at)]);
    return null;
end $$;
create or replace function mark_deleted_users() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(select distinct utc_day(created_at) from deleted));
    return null;
end $$;
create or replace trigger users_made_earlier after insert on users
    for each row when (new.created_at < date_trunc('day', clock_timestamp(), 'UTC')) execute function mark_added_user();
create or replace trigger users_deleted_later after delete on users referencing old table as deleted
    for each statement execute function mark_deleted_users();

create or replace function mark_revenue() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[new.day]);
    return null;
end $$;
create or replace function mark_deleted_revenue() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(select distinct day from deleted));
    return null;
end $$;
create or replace trigger revenue_changed_later after insert or update on revenue
    for each row when (new.day < utc_day(clock_timestamp())) execute function mark_revenue();
create or replace trigger revenue_deleted_later after delete on revenue referencing old table as deleted
    for each statement execute function mark_deleted_revenue();

create or replace function mark_views() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[new.on_day]);
    return null;
end $$;
create or replace function mark_deleted_views() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(select distinct on_day from deleted));
    return null;
end $$;
create or replace trigger page_views_changed_later after insert or update on page_views
    for each row when (new.on_day < utc_day(clock_timestamp())) execute function mark_views();
create or replace trigger page_views_deleted_later after delete on page_views referencing old table as deleted
    for each statement execute function mark_deleted_views();

-- Whoever empties one of these tables empties what was counted.
create or replace function forget_kept_days() returns trigger language plpgsql as $$
begin
    delete from kept_days;
    return null;
end $$;
create or replace trigger bookings_emptied after truncate on bookings
    for each statement execute function forget_kept_days();
create or replace trigger users_emptied after truncate on users
    for each statement execute function forget_kept_days();
create or replace trigger revenue_emptied after truncate on revenue
    for each statement execute function forget_kept_days();
create or replace trigger page_views_emptied after truncate on page_views
    for each statement execute function forget_kept_days();
