-- Each change of a host's time leaves a token here, whoever makes it: what was found out about the host may be kept for
-- as long as the tokens are the same. Rows are only inserted, so that writers never wait for each other; when a host has
-- many, a job replaces all that it sees by one (docs/decisions/0072-free-times-by-tokens.md).
create table host_changes (
    host_no bigint not null,
    -- 64 random bits: no other change has the same, on any server, after any restore.
    token bigint not null default hashtextextended(gen_random_uuid()::text, 0),
    primary key (host_no, token)
);
insert into host_changes (host_no) select no from users;

create function note_hosts() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct host_no from changed;
    return null;
end $$;
create function note_hosts_of_claims() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct host_no from changed where active;
    return null;
end $$;
create function note_hosts_of_seats() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct c.host_no from claims c join changed x on x.claim_id = c.id;
    return null;
end $$;
create function note_owners() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct u.no from users u join changed x on x.owner_id = u.id;
    return null;
end $$;

-- What is changed is both what it was and what it is: a claim may go to another host.
do $$
declare
    watched text[];
    operation text[];
begin
    foreach watched slice 1 in array array[
        ['schedules', 'note_owners'], ['out_of_office', 'note_owners'], ['busy_sources', 'note_hosts'],
        ['busy_spans', 'note_hosts'], ['claim_seats', 'note_hosts_of_seats'], ['claims', 'note_hosts_of_claims']]
    loop
        foreach operation slice 1 in array array[
            ['inserted', 'insert', 'new'], ['updated_from', 'update', 'old'], ['updated_to', 'update', 'new'],
            ['deleted', 'delete', 'old']]
        loop
            execute format(
                'create trigger %I after %s on %I referencing %s table as changed for each statement '
                'execute function %I()',
                watched[1] || '_host_' || operation[1], operation[2], watched[1], operation[3], watched[2]);
        end loop;
    end loop;
end $$;
