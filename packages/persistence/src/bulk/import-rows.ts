import type pg from 'pg';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { toStorageError } from '../storage-error.ts';

/** Something to import, and where it stands in its source. */
export interface ImportRecord<Value> {
  /** As an editor counts. */
  readonly line: number;
  readonly value: Value;
}

/** A record that was left out, and why. */
export interface RejectedRecord {
  readonly line: number;
  readonly reason: string;
}

export interface ImportOptions {
  /** Whether the good records stay when others are rejected. @default false, all or nothing */
  readonly skipBad?: boolean;
  /** Called after each batch with how many records have been taken in. */
  readonly onProgress?: (insertedCount: number) => void;
  /** Asked at the end: whether the source held records that never came here because they could not be read. */
  readonly hasUnreadable?: () => boolean;
}

export interface ImportResult {
  /** 0 where something was rejected and nothing was to be skipped. */
  readonly insertedCount: number;
  /** Those whose id is taken, in the database or by an earlier line. */
  readonly rejected: readonly RejectedRecord[];
}

/** Ids that nothing but the import uses, from before they are inserted. */
export interface IdReservation {
  include(ids: Iterable<bigint>): Promise<void>;
  release(outcome: { readonly isImported: boolean }): Promise<void>;
}

/** How records go into a table: their columns, each with its type, and a value's texts in the same order. */
export interface ImportTarget<Value> {
  readonly table: string;
  /** What one is called, as in "an order with the id 5 exists already". */
  readonly noun: string;
  /** The first one is `id`. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly idOf: (value: Value) => bigint;
  /** Where ids are also generated: keeps the two apart. */
  readonly reserveIds?: (client: pg.Client) => IdReservation;
  readonly textsOf: (value: Value) => readonly (string | null)[];
}

const BATCH = 2_000;

/**
 * Imports records in batches within one transaction, so that a failure on the way leaves nothing behind.
 *
 * @throws StorageUnavailableError, and whatever the source throws
 */
export async function importRows<Value>(
  servers: DatabaseServers,
  target: ImportTarget<Value>,
  records: AsyncIterable<ImportRecord<Value>>,
  { skipBad = false, onProgress, hasUnreadable = () => false }: ImportOptions,
): Promise<ImportResult> {
  let reservation: IdReservation | undefined;
  const importAll = async (client: pg.Client) => {
    reservation = target.reserveIds?.(client);
    const rejected: RejectedRecord[] = [];
    let insertedCount = 0;
    for await (const batch of batchesOf(records)) {
      await reservation?.include(batch.map(({ value }) => target.idOf(value)));
      const rejects = await insertBatch(client, target, batch);
      rejected.push(...rejects);
      insertedCount += batch.length - rejects.length;
      onProgress?.(insertedCount);
    }
    const keep = skipBad || (rejected.length === 0 && !hasUnreadable());
    if (keep) await reservation?.release({ isImported: true });
    return { commit: keep, value: { insertedCount: keep ? insertedCount : 0, rejected } };
  };
  return withTransaction(servers, importAll, async () => reservation?.release({ isImported: false }));
}

/**
 * Runs work in a transaction on a connection of its own. What the source throws comes through as it is.
 *
 * @param afterRollback undoes what no transaction undoes, where the connection still stands
 */
export async function withTransaction<Value>(
  servers: DatabaseServers,
  work: (client: pg.Client) => Promise<{ readonly commit: boolean; readonly value: Value }>,
  afterRollback: () => Promise<void> = async () => {},
): Promise<Value> {
  const { client } = await servers.open({ session: { statement_timeout: '0' }, forWrites: true });
  let isCommitted = false;
  try {
    await client.query('begin');
    const { commit, value } = await work(client);
    if (commit) await client.query('commit');
    isCommitted = commit;
    return value;
  } catch (error) {
    throw toStorageError(error);
  } finally {
    if (!isCommitted)
      await client
        .query('rollback')
        .then(afterRollback)
        .catch(() => {}); // the failure that led here counts
    await client.end().catch(() => {}); // an open transaction ends with its connection
  }
}

async function* batchesOf<Item>(items: AsyncIterable<Item>): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function insertBatch<Value>(
  client: pg.Client,
  target: ImportTarget<Value>,
  batch: readonly ImportRecord<Value>[],
): Promise<readonly RejectedRecord[]> {
  const { candidates, repeated } = firstOfEachId(target, batch);
  const columns: (string | null)[][] = target.columns.map(() => []);
  for (const { value } of candidates) {
    for (const [i, text] of target.textsOf(value).entries()) columns[i]?.push(text);
  }
  const { rows } = await client.query<{ id: string }>(insertText(target), columns);
  if (rows.length === candidates.length) return repeated;
  const inserted = new Set(rows.map(({ id }) => id));
  const taken = candidates.filter(({ value }) => !inserted.has(target.idOf(value).toString()));
  const rejects = [...repeated, ...(await explainTaken(client, target, taken))];
  return rejects.sort((a, b) => a.line - b.line);
}

function firstOfEachId<Value>({ idOf }: ImportTarget<Value>, batch: readonly ImportRecord<Value>[]) {
  const lines = new Map<bigint, number>();
  const candidates: ImportRecord<Value>[] = [];
  const repeated: RejectedRecord[] = [];
  for (const record of batch) {
    const id = idOf(record.value);
    if (lines.has(id)) {
      repeated.push({ line: record.line, reason: repeatedReason(id) });
    } else {
      lines.set(id, record.line);
      candidates.push(record);
    }
  }
  return { candidates, repeated };
}

/** Distinguishes those whose id was in the database before from those whose id an earlier batch brought. */
async function explainTaken<Value>(
  client: pg.Client,
  { table, noun, idOf }: ImportTarget<Value>,
  taken: readonly ImportRecord<Value>[],
): Promise<readonly RejectedRecord[]> {
  const { rows } = await client.query<{ id: string }>(
    `select id from ${table} where id = any($1::bigint[]) and xmin = pg_current_xact_id()::xid`,
    [taken.map(({ value }) => idOf(value).toString())],
  );
  const broughtEarlier = new Set(rows.map(({ id }) => id));
  return taken.map(({ line, value }) => {
    const id = idOf(value);
    const isRepeated = broughtEarlier.has(id.toString());
    return { line, reason: isRepeated ? repeatedReason(id) : `${noun} with the id ${id} exists already` };
  });
}

const repeatedReason = (id: bigint) => `the id ${id} is repeated from an earlier line`;

function insertText<Value>({ table, columns }: ImportTarget<Value>): string {
  const names = columns.map(({ name }) => name).join(', ');
  const arrays = columns.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ');
  return `insert into ${table} (${names}) select * from unnest(${arrays}) on conflict (id) do nothing returning id`;
}
