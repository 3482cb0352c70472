-- How often public pages are visited, and from where: counts only, nothing about who visits.
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
create index page_views_host on page_views (host_id, on_day);
create index page_views_event_type on page_views (event_type_id) where event_type_id is not null;
create index page_views_age on page_views (on_day);
