-- Who a user is at an identity provider, and sign-ins through one that were finished.

create table identities (
    issuer text not null,
    subject text not null,
    user_id uuid not null references users on delete cascade,
    created_at timestamptz not null,
    primary key (issuer, subject),
    unique (user_id, issuer)
);

-- A sign-in is finished once: what comes back a second time is refused until it has expired anyway.
create table finished_oidc_sign_ins (
    hash bytea primary key,
    expires_at timestamptz not null
);
create index finished_oidc_sign_ins_expiry on finished_oidc_sign_ins (expires_at);
