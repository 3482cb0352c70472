-- Several who come at the same time take their places in a log together: how many were given, instead of whether one was.
truncate rate_log;
alter table rate_log
    alter column taken type int using taken::int,
    alter column bucket type text collate "C";
