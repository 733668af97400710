/**
 * The schema as the catalogs of a migrated database know it, as text: committed as `schema.sql` and diffed by a test, so that a migration
 * or a verb that changes shape shows in review. Our own query, because the embedded Postgres ships no `pg_dump`. For reading, not for restoring.
 */
import type { Ledger } from './connect.ts'
import { withTransaction } from './transaction.ts'

const parts: readonly string[] = [
  `select 'create sequence ' || s.schemaname || '.' || s.sequencename || ' as ' || s.data_type || ';' as line
    from pg_sequences s where s.schemaname = 'pawl' and not exists (select 1 from pg_depend d where d.objid = (s.schemaname || '.' || s.sequencename)::regclass and d.deptype = 'i')
    order by s.sequencename`,
  `select 'create table pawl.' || c.relname || E' (\\n' || string_agg('  ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull then ' not null' else '' end
      || case when a.attidentity <> '' then ' generated always as identity' else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''), E',\\n' order by a.attname) || E'\\n);' as line
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'pawl'::regnamespace and c.relkind = 'r' group by c.relname order by c.relname`,
  `select 'alter table pawl.' || c.relname || ' add constraint ' || k.conname || ' ' || pg_get_constraintdef(k.oid) || ';' as line
    from pg_constraint k join pg_class c on c.oid = k.conrelid where c.relnamespace = 'pawl'::regnamespace and k.contype in ('p', 'u', 'c', 'f') order by c.relname, k.conname`,
  `select pg_get_indexdef(i.indexrelid) || ';' as line from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'pawl'::regnamespace and not i.indisprimary order by c.relname`,
  `select pg_get_triggerdef(t.oid) || ';' as line from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'pawl'::regnamespace and not t.tgisinternal order by t.tgname`,
  `select 'function pawl.' || p.proname || '(' || pg_get_function_arguments(p.oid) || ') returns ' || pg_get_function_result(p.oid) || ' language ' || l.lanname
      || case p.provolatile when 'v' then ' volatile' when 's' then ' stable' else ' immutable' end || ';' as line
    from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = 'pawl'::regnamespace order by p.proname`,
]

export async function printSchema(ledger: Ledger): Promise<string> {
  const printed = await withTransaction(ledger, { timeoutMs: 10_000 }, async (tx) => {
    // Names are qualified only where they are not visible: a role that is called like the schema would print them bare.
    await tx.query(`set local search_path = ''`)
    const texts: string[] = []
    for (const part of parts) texts.push((await tx.query<{ line: string }>(part)).rows.map((row) => row.line).join('\n'))
    return texts
  })
  return `-- Printed from the catalogs of an empty migrated database by src/print-schema.ts; columns in alphabetical order.\n-- After a change of schema or verbs: PAWL_PRINT_SCHEMA=1 npx vitest run packages/ledger/src/print-schema\n\n${printed.join('\n\n')}\n`
}
