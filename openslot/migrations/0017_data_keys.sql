-- What signs links, sealed by the secret key: the first one signs, every one verifies.
create table data_keys (
    no smallint primary key,
    sealed bytea not null,
    -- Names the secret key that sealed it, without telling anything about it.
    sealed_by bytea not null,
    created_at timestamptz not null
);
