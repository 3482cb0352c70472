-- Which part of the mail that the public may set off for a host was used up, when last, and when the host was told.
create table mail_limits_reached (
    host_id uuid not null references users on delete cascade,
    pot text not null,
    reached_at timestamptz not null,
    told_at timestamptz not null,
    primary key (host_id, pot)
);
