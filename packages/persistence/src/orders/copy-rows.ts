import { once } from 'node:events';
import pg from 'pg';
import { to } from 'pg-copy-streams';
import { clientOf } from '../connections/client-of-servers.ts';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { storageUnavailable, toStorageError } from '../storage-error.ts';

/** How long a COPY may send nothing, in milliseconds, and in which steps that is counted: our own pauses do not count. */
const SILENCE_MAX_MS = 2_000;
const SILENCE_STEP_MS = 100;

/** How long a batch waits for a connection, in milliseconds. */
const CONNECTION_TIMEOUT_MS = 2_200;

/** When the server gives up a COPY that nobody waits for any more, in milliseconds. */
const COPY_TIMEOUT_MS = 30_000;

/**
 * Opens a pool for COPY. It has no `query_timeout`, which would cut a COPY that flows and then throw what arrives later
 * where nobody catches it: see {@link copyRows}.
 *
 * @param size connections at most
 */
export function openCopyPool(servers: DatabaseServers, size: number): pg.Pool {
  const pool = new pg.Pool({
    ...servers.config,
    Client: clientOf(servers, { statement_timeout: String(COPY_TIMEOUT_MS) }),
    max: size,
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
  });
  // What is lost while idle is opened again.
  pool.on('error', () => {});
  // The pool does not listen to a connection that is in use; an error without a listener would end the process.
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}

/**
 * Runs `copy ... to stdout (null '')` of columns whose text is ASCII and needs no escapes.
 *
 * @returns the fields of each row; an empty one is null
 * @throws StorageUnavailableError also if the server sends nothing for {@link SILENCE_MAX_MS}
 */
export async function copyRows(pool: pg.Pool, statement: string): Promise<string[][]> {
  let client: pg.PoolClient | undefined;
  try {
    client = await pool.connect();
    const rows = await receiveRows(client, statement);
    client.release();
    return rows;
  } catch (error) {
    client?.release(true); // whatever it is in the middle of
    throw toStorageError(error);
  }
}

async function receiveRows(client: pg.PoolClient, statement: string): Promise<string[][]> {
  const stalled = new AbortController();
  // The server says that it is ready for another statement after it has sent the last row.
  const ready = once(client, 'drain', { signal: stalled.signal });
  ready.catch(() => {}); // of interest only if all rows have come
  const copy = client.query(to(statement));
  copy.on('error', () => {}); // of a connection that is destroyed, after the loop below has ended
  let silentSteps = 0;
  const timer = setInterval(() => {
    if (++silentSteps * SILENCE_STEP_MS < SILENCE_MAX_MS) return;
    const error = storageUnavailable('it did not respond in time');
    copy.destroy(error);
    stalled.abort(error);
  }, SILENCE_STEP_MS);
  try {
    const rows: string[][] = [];
    let rest = '';
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      silentSteps = 0;
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? ''; // the beginning of a line whose end is in the next chunk
      for (const line of lines) rows.push(line.split('\t'));
    }
    await ready;
    return rows;
  } catch (error) {
    throw stalled.signal.aborted ? stalled.signal.reason : error;
  } finally {
    clearInterval(timer);
    stalled.abort(); // nobody listens any more
  }
}
