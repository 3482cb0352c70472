"""What a database is made of, read from PostgreSQL's catalogs in words that do not depend on how it came to be so."""

import asyncpg

OURS = "relnamespace = 'public'::regnamespace and relname <> 'migrations'"
RELATIONS = f"select oid, relname from pg_class where {OURS} and relkind in ('r', 'p', 'v', 'm', 'S')"
# The order of columns without the numbers of those that were dropped.
QUERIES = {
    "tables": f"""
        select relname, relkind, relpersistence, reloptions, relrowsecurity, relreplident, relacl::text,
            (select array_agg(o order by o) from unnest(t.reloptions) o), (
                select reloptions from pg_class toast where toast.oid = t.reltoastrelid) as toast
        from pg_class t where {OURS} and relkind in ('r', 'p', 'v', 'm')""",
    "columns": f"""
        select t.relname, row_number() over (partition by t.oid order by a.attnum) as place, a.attname,
            format_type(a.atttypid, a.atttypmod) as type, a.attnotnull, a.attidentity, a.attgenerated, a.attstorage,
            a.attcompression, a.attstattarget, a.attoptions, a.attacl::text, a.attcollation::regcollation::text,
            pg_get_expr(d.adbin, d.adrelid) as otherwise
        from pg_class t join pg_attribute a on a.attrelid = t.oid
        left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
        where {OURS} and t.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0 and not a.attisdropped""",
    "constraints": f"""
        select t.relname, c.conname, c.contype, pg_get_constraintdef(c.oid) as definition, c.convalidated,
            c.condeferrable, c.condeferred, c.conindid::regclass::text
        from pg_constraint c join pg_class t on t.oid = c.conrelid where {OURS}""",
    "indexes": f"""
        select t.relname, i.indexrelid::regclass::text as index, pg_get_indexdef(i.indexrelid) as definition,
            i.indisvalid, i.indisready, i.indisclustered, (
                select array_agg(a.attstattarget order by a.attnum) from pg_attribute a where a.attrelid = i.indexrelid)
        from pg_index i join pg_class t on t.oid = i.indrelid where {OURS}""",
    "functions": """
        select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as definition, p.proacl::text
        from pg_proc p where p.pronamespace = 'public'::regnamespace""",
    "triggers": f"""
        select t.relname, g.tgname, pg_get_triggerdef(g.oid) as definition, g.tgenabled
        from pg_trigger g join pg_class t on t.oid = g.tgrelid where {OURS} and not g.tgisinternal""",
    "event triggers": "select evtname, evtevent, evtfoid::regproc::text, evtenabled, evttags from pg_event_trigger",
    "sequences": f"""
        select t.relname, s.seqtypid::regtype::text, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache,
            s.seqcycle
        from pg_sequence s join pg_class t on t.oid = s.seqrelid where {OURS}""",
    "types": """
        select oid::regtype::text, typtype from pg_type
        where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r')""",
    "rules and policies": f"""
        select t.relname, r.rulename, pg_get_ruledef(r.oid) from pg_rewrite r join pg_class t on t.oid = r.ev_class
        where {OURS} union all
        select t.relname, p.polname, null from pg_policy p join pg_class t on t.oid = p.polrelid where {OURS}""",
    "statistics": "select stxname, pg_get_statisticsobjdef(oid) from pg_statistic_ext",
    "comments": """
        select named.identity, d.description
        from pg_description d, pg_identify_object(d.classoid, d.objoid, d.objsubid) named
        where named.type ~ '^(table|index|sequence|function|trigger)' and named.schema is distinct from 'pg_catalog'
            and named.identity !~ '(^| )(pg_catalog|information_schema)\\.'""",
    "default rights": """
        select defaclrole::regrole::text, defaclnamespace, defaclobjtype, defaclacl::text from pg_default_acl""",
}


async def read_catalog(connection: asyncpg.Connection) -> dict[str, list[str]]:
    """Tell of everything that migrations may make, each kind in the order of its words."""
    return {kind: sorted(map(str, await connection.fetch(sql))) for kind, sql in QUERIES.items()}
