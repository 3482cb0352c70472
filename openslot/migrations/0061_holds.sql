-- openslot: no transaction
-- Holds are counted by the network that they come from, and those that have ended lately by their address.
alter table claims add column if not exists holder_network text;
alter table claim_seats add column if not exists holder_network text;

-- In place of claims_holder and claim_seats_holder, which knew the active ones only.
create index concurrently if not exists claims_held_by on claims (holder, expires_at) where holder is not null;
create index concurrently if not exists claim_seats_held_by on claim_seats (holder, expires_at)
    where holder is not null;
create index concurrently if not exists claims_held_from on claims (holder_network, expires_at)
    where holder is not null;
create index concurrently if not exists claim_seats_held_from on claim_seats (holder_network, expires_at)
    where holder is not null;
drop index concurrently if exists claims_holder;
drop index concurrently if exists claim_seats_holder;
