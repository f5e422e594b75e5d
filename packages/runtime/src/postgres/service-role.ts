import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { commandAsUser } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';
import { lastComplaint, type PostgresCluster, serverEnvironment } from './postgres-cluster.ts';

/** The role that programs log in as: it owns what is in the schema `public`, and has no other rights. */
export const SERVICE_ROLE = 'petstore_service';

/** What the superuser made in the schema, as releases did that had no other role. Sequences of a column follow it. */
const FOREIGN_RELATIONS = `
  SELECT format('ALTER %s %s OWNER TO ${SERVICE_ROLE}', kind, relation) AS handing_over
  FROM (
    SELECT oid::regclass AS relation, CASE relkind
      WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'TABLE' WHEN 'f' THEN 'FOREIGN TABLE'
      WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
    END AS kind
    FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relowner <> '${SERVICE_ROLE}'::regrole
    AND NOT EXISTS (
      SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid
      AND (deptype = 'e' OR relkind = 'S' AND deptype IN ('a', 'i'))
    )
  ) AS foreign_relation
  WHERE kind IS NOT NULL`;

const statements = (password: string): readonly string[] => [
  `DO $$ BEGIN
     IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${SERVICE_ROLE}') THEN CREATE ROLE ${SERVICE_ROLE}; END IF;
   END $$`,
  `ALTER ROLE ${SERVICE_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
   PASSWORD '${password}'`,
  `ALTER SCHEMA public OWNER TO ${SERVICE_ROLE}`,
  `DO $$ DECLARE statement text; BEGIN
     FOR statement IN ${FOREIGN_RELATIONS} LOOP EXECUTE statement; END LOOP;
   END $$`,
];

/**
 * Makes the role that programs log in as, and hands over to it what is in the database. May be done again.
 *
 * No server may run on the folder: PostgreSQL does it by itself, in its single-user mode, which takes 0.1 s and no
 * connection. It reads a statement per line.
 *
 * @param password letters, digits, `-` and `_`
 * @throws RuntimeError with PostgreSQL's own words when it refuses
 */
export async function prepareServiceRole({ binaries, folder, user }: PostgresCluster, password: string): Promise<void> {
  const { command, ...identity } = commandAsUser(
    [binaries.postgres, '--single', '-D', folder, '-c', 'exit_on_error=on', '-c', 'log_checkpoints=off', 'postgres'],
    user,
    [dirname(folder), dirname(binaries.postgres)],
  );
  const [file, ...args] = command;
  const run = promisify(execFile)(file, args, { ...identity, cwd: '/', env: serverEnvironment(folder) });
  run.child.stdin?.on('error', () => {}); // it ended early, and `run` rejects with the reason
  run.child.stdin?.end(
    statements(password)
      .map((text) => `${text.replace(/\s+/g, ' ')}\n`)
      .join(''),
  );
  try {
    await run;
  } catch (cause) {
    const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : String(cause);
    // Not the cause itself: it may hold the statement with the password.
    throw new RuntimeError(
      `PostgreSQL could not hand its data over to the role ${SERVICE_ROLE}: ${lastComplaint(output)}`,
    );
  }
}
