-- Whether the invitee did not come, as the host has marked it.
alter table bookings add column no_show boolean not null default false;
-- What only the host reads: no fact, mail or webhook has it.
alter table bookings add column private_notes text;

-- What the host has noted about a person goes with the contact. A contact that is deleted leaves its bookings by the
-- foreign key, so the database sees to it itself.
create function drop_private_notes() returns trigger language plpgsql as $$
begin
    new.private_notes := null;
    return new;
end $$;
create trigger bookings_contact_deleted before update of contact_id on bookings
    for each row when (old.contact_id is not null and new.contact_id is null and old.private_notes is not null)
    execute function drop_private_notes();
