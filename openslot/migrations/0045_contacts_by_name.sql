-- openslot: no transaction
-- Contacts in the order of their names; the folded text begins with the name.
drop index concurrently if exists contacts_by_name;
create index concurrently contacts_by_name on contacts (owner_id, left(search_text, 100), id);
