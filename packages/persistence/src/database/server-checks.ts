import type pg from 'pg';
import { endClient, openClient } from './connection.ts';
import { storageUnavailable } from './errors.ts';

/** The oldest PostgreSQL that supports the schema and the statements. */
const OLDEST_VERSION = 15;

/**
 * The encodings of a database that can hold every text. SQL_ASCII converts nothing: UTF-8 is read back as it was written.
 */
const ENCODINGS = ['UTF8', 'SQL_ASCII'];

interface Facts {
  readonly isReadOnly: boolean;
  readonly version: number;
  readonly encoding: string;
}

const READ_FACTS = `
  select current_setting('transaction_read_only')::boolean as "isReadOnly",
    current_setting('server_version_num')::integer / 10000 as version, current_setting('server_encoding') as encoding`;

/**
 * Checks that the server is suitable.
 *
 * @returns whether it takes no writes, because it is a standby or for another reason
 * @throws StorageUnavailableError if the server is too old, or the database cannot hold every text
 */
export async function readIsReadOnly(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<Facts>(READ_FACTS);
  const [{ isReadOnly, version, encoding }] = rows as [Facts]; // it has one
  if (version < OLDEST_VERSION) {
    throw storageUnavailable(`version ${version} is too old; ${OLDEST_VERSION} or newer is required`);
  }
  if (!ENCODINGS.includes(encoding)) {
    throw storageUnavailable(
      `the encoding of the database is ${encoding}, which cannot store every text; UTF8 is required (create database ... encoding 'UTF8')`,
    );
  }
  return isReadOnly;
}

/** How often both connections are asked: other clients of a pooler might hide how it behaves. */
const ROUNDS = 3;

/**
 * Checks that a connection through a pooler keeps its session. If it does not, each statement may reach another process of
 * the server, with other settings and other prepared statements.
 *
 * @param config that of the connection, by which a second one is opened
 * @throws StorageUnavailableError if the pooler lends a session for a transaction only
 */
export async function assertSessionStays(client: pg.Client, config: pg.ClientConfig): Promise<void> {
  const other = await openClient(config);
  const own = new Set<number>();
  const others = new Set<number>();
  try {
    for (let round = 0; round < ROUNDS; round++) {
      // Twice each, because a pooler may lend its sessions in turn, or the last one first.
      for (const each of [client, client, other, other]) {
        const { rows } = await each.query<{ pid: number }>('select pg_backend_pid() as pid');
        for (const { pid } of rows) (each === client ? own : others).add(pid);
      }
    }
  } finally {
    void endClient(other);
  }
  if (own.size === 1 && others.size === 1 && new Set([...own, ...others]).size === 2) return;
  throw storageUnavailable(
    'a connection pooler in transaction mode is in between, which does not keep sessions; session mode is required',
  );
}
