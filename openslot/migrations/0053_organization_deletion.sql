-- A membership may end, with its organization, while the account of the member is renamed.
create or replace function change_shown_members() returns trigger language plpgsql as $$
begin
    loop
        begin
            insert into member_profiles as p (member_id, organization_id, version, active, joined_at, changed_at)
            select id, organization_id, 2, active, created_at, new.updated_at from memberships where user_id = new.id
            on conflict (member_id) do update set version = p.version + 1, changed_at = excluded.changed_at
            where p.profile is null;
            return null;
        exception when foreign_key_violation then
            -- The next try no longer sees the membership that has ended.
        end;
    end loop;
end $$;

update flags set description = replace(description, 'e-mails', 'emails') where key = 'mail_reminders';
