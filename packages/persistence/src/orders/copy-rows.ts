import { once } from 'node:events';
import type pg from 'pg';
import { to } from 'pg-copy-streams';
import type { Database } from '../database/database.ts';
import { storageUnavailable } from '../database/storage-error.ts';

/** How long a COPY may send nothing, in milliseconds, and in which steps that is counted: our own pauses do not count. */
const SILENCE_MAX_MS = 2_000;
const SILENCE_STEP_MS = 100;

/**
 * Runs `copy ... to stdout (null '')` of columns whose text is ASCII and needs no escapes.
 *
 * @returns the fields of each row; an empty one is null
 * @throws StorageUnavailableError also if the server sends nothing for {@link SILENCE_MAX_MS}
 */
export const copyRows = (database: Database, statement: string): Promise<string[][]> =>
  database.borrow('batches', (client) => receiveRows(client, statement));

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
