-- Users, organizations and who belongs to what.

create table users (
    id uuid primary key,
    no bigint generated always as identity unique,
    email text not null,
    name text not null,
    username text not null,
    password_hash text,
    plan text not null default 'FREE' check (plan in ('FREE', 'PRO', 'BUSINESS')),
    plan_until timestamptz,
    trial_plan text check (trial_plan in ('PRO', 'BUSINESS')),
    trial_until timestamptz,
    zone text not null default 'UTC',
    locale text not null default 'en',
    is_admin boolean not null default false,
    disabled_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check ((trial_plan is null) = (trial_until is null))
);
create unique index users_email on users (lower(email));
create unique index users_username on users (lower(username));

create table organizations (
    id uuid primary key,
    name text not null,
    slug text not null,
    plan text not null default 'FREE' check (plan in ('FREE', 'PRO', 'BUSINESS')),
    plan_until timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index organizations_slug on organizations (lower(slug));

create table domains (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    domain text not null check (domain = lower(domain)),
    proof text not null,
    verified_at timestamptz,
    created_at timestamptz not null,
    unique (organization_id, domain)
);
create unique index domains_verified on domains (domain) where verified_at is not null;

create table memberships (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    user_id uuid not null references users on delete cascade,
    role text not null default 'member' check (role in ('owner', 'admin', 'member')),
    active boolean not null default true,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (organization_id, user_id)
);
create index memberships_user on memberships (user_id);
