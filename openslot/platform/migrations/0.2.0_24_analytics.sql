-- How often pages are visited, how far people come who sign up, and what happened on the platform, by days in UTC.

create table page_views (
    host_id uuid not null references users on delete cascade,
    -- Null is the host's own page.
    event_type_id uuid references event_types on delete cascade,
    page_id uuid not null generated always as (coalesce(event_type_id, host_id)) stored,
    -- In the host's time zone.
    on_day date not null,
    source text not null check (length(source) between 1 and 60),
    views bigint not null check (views > 0),
    primary key (page_id, on_day, source)
);
comment on table page_views is 'Visits of public pages, and from where: counts only, nothing about who visits.';
create index page_views_host on page_views (host_id, on_day);
create index page_views_event_type on page_views (event_type_id) where event_type_id is not null;
create index page_views_age on page_views (on_day);

create table funnel_visits (
    -- In UTC.
    on_day date primary key,
    visits bigint not null check (visits > 0)
);
comment on table funnel_visits is 'Visits of the sign-up form: counts only, nothing about who visits.';

create table funnel_steps (
    account_id uuid not null,
    step text not null,
    at timestamptz not null,
    primary key (account_id, step)
);
comment on table funnel_steps is
    'Each step of an account that was opened by the form, once. Before the account is opened, a row has the id of '
    'its sign-up. There is no reference to the account: what was counted stays when the account is deleted, and '
    'names nobody then.';
create index funnel_steps_age on funnel_steps (at);

create table kept_days (
    on_day date primary key,
    counted_at timestamptz not null
);
comment on table kept_days is
    'Days in UTC that were counted: once they were over, and again when something of them has changed.';

create table daily_figures (
    on_day date not null references kept_days on delete cascade,
    name text not null,
    key text not null,
    amount bigint not null,
    primary key (on_day, name, key)
);
comment on table daily_figures is 'What was counted on a day; docs/analytics.md has every name and key.';

create table active_hosts (
    on_day date not null references kept_days on delete cascade,
    block bigint not null,
    hosts bit(1024) not null,
    primary key (on_day, block)
);
comment on table active_hosts is
    'The hosts with whom bookings were made on a day, as bits: bit n of block b stands for the host whose number '
    'is b * 1024 + n.';

create table stale_days (
    on_day date not null
);
comment on table stale_days is
    'Days of which something has changed since. Rows are only added, so that nobody waits for another; the job '
    'that counts the day again removes those that it has seen.';
create index stale_days_day on stale_days (on_day);

create function mark_stale_days(days date[]) returns void language sql as $$
    insert into stale_days (on_day)
    select distinct changed.day from unnest(days) as changed (day)
    where changed.day < utc_day(clock_timestamp()) and not exists (
        select from stale_days s where s.on_day = changed.day and s.xmin = pg_current_xact_id()::xid)
$$;
comment on function mark_stale_days is
    'Marks days to be counted again; what of today changes is counted tomorrow. A row of another transaction does '
    'not do: it may be removed by a count that has not seen what this transaction changes.';

create function mark_added_booking() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[utc_day(new.created_at), utc_day(new.cancelled_at), utc_day(new.starts_at)]);
    return null;
end $$;
comment on function mark_added_booking is
    'Marks the days on which a new booking counts: that on which it was made, that of its cancellation, and that '
    'of its start.';

create function mark_changed_booking() returns trigger language plpgsql as $$
declare
    days date[] := '{}';
begin
    if (old.status in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION'), old.created_at, old.host_id, old.source)
            is distinct from
            (new.status in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION'), new.created_at, new.host_id, new.source) then
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
comment on function mark_changed_booking is
    'Marks only the days whose figures a changed booking changes: most bookings are changed some time after they '
    'were made. One that had to be paid or confirmed counts on the day on which it was asked for.';

create function mark_deleted_bookings() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(
        select distinct day from deleted d
        cross join lateral (values (utc_day(d.created_at)), (utc_day(d.cancelled_at)), (utc_day(d.starts_at))) v (day)));
    return null;
end $$;
comment on function mark_deleted_bookings is 'Marks the days on which deleted bookings had counted.';

create trigger bookings_made_earlier after insert on bookings
    for each row when (least(new.created_at, new.cancelled_at, new.starts_at) < date_trunc('day', clock_timestamp(), 'UTC'))
    execute function mark_added_booking();
comment on trigger bookings_made_earlier on bookings is 'A booking of a day that is over is counted there too.';

create trigger bookings_changed_later after update on bookings
    for each row when (
        (old.status, old.created_at, old.host_id, old.source, old.cancelled_at, old.starts_at, old.no_show)
        is distinct from
        (new.status, new.created_at, new.host_id, new.source, new.cancelled_at, new.starts_at, new.no_show))
    execute function mark_changed_booking();
comment on trigger bookings_changed_later on bookings is
    'A booking of a day that is over is counted there anew when it changes.';

create trigger bookings_deleted_later after delete on bookings referencing old table as deleted
    for each statement execute function mark_deleted_bookings();
comment on trigger bookings_deleted_later on bookings is
    'Days that are over are counted without bookings that were deleted.';

create function mark_added_user() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[utc_day(new.created_at)]);
    return null;
end $$;
comment on function mark_added_user is 'Marks the day on which an account was opened.';

create function mark_deleted_users() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(select distinct utc_day(created_at) from deleted));
    return null;
end $$;
comment on function mark_deleted_users is 'Marks the days on which deleted accounts had been opened.';

create trigger users_made_earlier after insert on users
    for each row when (new.created_at < date_trunc('day', clock_timestamp(), 'UTC')) execute function mark_added_user();
comment on trigger users_made_earlier on users is 'An account of a day that is over is counted there too.';

create trigger users_deleted_later after delete on users referencing old table as deleted
    for each statement execute function mark_deleted_users();
comment on trigger users_deleted_later on users is
    'Days that are over are counted without accounts that were deleted.';

create function mark_revenue() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[new.day]);
    return null;
end $$;
comment on function mark_revenue is 'Marks the day of a revenue that was written later.';

create function mark_deleted_revenue() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(select distinct day from deleted));
    return null;
end $$;
comment on function mark_deleted_revenue is 'Marks the days of revenue that was deleted.';

create trigger revenue_changed_later after insert or update on revenue
    for each row when (new.day < utc_day(clock_timestamp())) execute function mark_revenue();
comment on trigger revenue_changed_later on revenue is 'Revenue of a day that is over is counted there too.';

create trigger revenue_deleted_later after delete on revenue referencing old table as deleted
    for each statement execute function mark_deleted_revenue();
comment on trigger revenue_deleted_later on revenue is
    'Days that are over are counted without revenue that was deleted.';

create function mark_views() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array[new.on_day]);
    return null;
end $$;
comment on function mark_views is 'Marks the day of visits that were counted later.';

create function mark_deleted_views() returns trigger language plpgsql as $$
begin
    perform mark_stale_days(array(select distinct on_day from deleted));
    return null;
end $$;
comment on function mark_deleted_views is 'Marks the days of visits that were deleted.';

create trigger page_views_changed_later after insert or update on page_views
    for each row when (new.on_day < utc_day(clock_timestamp())) execute function mark_views();
comment on trigger page_views_changed_later on page_views is 'Visits of a day that is over are counted there too.';

create trigger page_views_deleted_later after delete on page_views referencing old table as deleted
    for each statement execute function mark_deleted_views();
comment on trigger page_views_deleted_later on page_views is
    'Days that are over are counted without visits that were deleted.';

create function forget_kept_days() returns trigger language plpgsql as $$
begin
    delete from kept_days;
    return null;
end $$;
comment on function forget_kept_days is
    'Empties what was counted of days: whoever empties a table of which something was counted empties that too.';

create trigger bookings_emptied after truncate on bookings
    for each statement execute function forget_kept_days();
comment on trigger bookings_emptied on bookings is 'Without any bookings, nothing that was counted holds.';

create trigger users_emptied after truncate on users
    for each statement execute function forget_kept_days();
comment on trigger users_emptied on users is 'Without any accounts, nothing that was counted holds.';

create trigger revenue_emptied after truncate on revenue
    for each statement execute function forget_kept_days();
comment on trigger revenue_emptied on revenue is 'Without any revenue, nothing that was counted holds.';

create trigger page_views_emptied after truncate on page_views
    for each statement execute function forget_kept_days();
comment on trigger page_views_emptied on page_views is 'Without any visits, nothing that was counted holds.';
