-- openslot: no transaction
-- Every decision about an organization asks who its owners are, however many members it has.
drop index concurrently if exists memberships_administrators;
create index concurrently if not exists memberships_administrators
    on memberships (organization_id) where role in ('owner', 'admin');
