-- What a job or a consequence could not do for one of the many that it serves; gone when that one succeeds.
create table failed_items (
    job text not null,
    -- Whom or what it is about, usually an id.
    item text not null,
    error text not null,
    failures integer not null default 1,
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (job, item)
);
