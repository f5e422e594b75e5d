import type { ChangeOrigin } from '@petstore/domain';
import type pg from 'pg';
import type { DatabaseServers } from '../database/servers.ts';
import { type Batch, BatchInserter, prepareBatch, type Row } from './batch-inserter.ts';
import type { IdReservation, ImportTarget } from './import-target.ts';
import type { RejectedRecord } from './rejected-record.ts';
import { withTransaction } from './transaction.ts';

/** Something to import, and where it stands in its source. */
export interface ImportRecord<Value> {
  /** As an editor counts. */
  readonly line: number;
  readonly value: Value;
}

/** Records, one at a time, or some: those are taken one after the other, so they may be made as they are taken. */
export type ImportSource<Value> = AsyncIterable<ImportRecord<Value> | Iterable<ImportRecord<Value>>>;

export interface ImportOptions {
  /** On whose behalf. @default the service's */
  readonly origin?: ChangeOrigin;
  /** Whether the good records stay when others are rejected. @default false, all or nothing */
  readonly skipBad?: boolean;
  /** Called after each batch with how many records have been taken in. */
  readonly onProgress?: (insertedCount: number) => void;
  /** Asked at the end: whether the source held records that never came here because they could not be read. */
  readonly hasUnreadable?: () => boolean;
  /** Called before the transaction commits; where it never is, nothing was imported. */
  readonly onCommit?: () => void;
}

export interface ImportResult {
  /** 0 where something was rejected and nothing was to be skipped. */
  readonly insertedCount: number;
  /** Those whose id is taken, in the database or by an earlier line: the first ones, {@link REJECTED_LISTED_MAX} at most. */
  readonly rejected: readonly RejectedRecord[];
  /** All of them. */
  readonly rejectedCount: number;
}

const BATCH = 20_000;
/** Of long records a batch holds fewer, so that memory does not grow with their length. */
const BATCH_CHARACTERS_MAX = 16_000_000;

/**
 * Imports records in batches within one transaction, so that a failure on the way leaves nothing behind. The source is
 * read, parsed and written as rows while PostgreSQL works on the batch before.
 *
 * @throws StorageUnavailableError, ImportConflictError, and whatever the source throws
 */
export async function importRows<Value>(
  servers: DatabaseServers,
  target: ImportTarget<Value>,
  records: ImportSource<Value>,
  { origin, skipBad = false, onProgress, hasUnreadable = () => false, onCommit }: ImportOptions,
): Promise<ImportResult> {
  let reservation: IdReservation | undefined;
  const importAll = async (client: pg.Client) => {
    reservation = target.reserveIds(client);
    const events = await target.beginEvents?.(client);
    await using batches = new BatchInserter(servers, client, target, { reservation, events });
    let earlier = Promise.resolve();
    try {
      for await (const batch of batchesOf(target, records)) {
        await earlier;
        earlier = batches.insert(batch).then(() => onProgress?.(batches.insertedCount));
        earlier.catch(() => {}); // it rejects where it is awaited
      }
    } finally {
      await earlier; // whatever the source did: nothing may be sent behind the end of the transaction
    }
    const { insertedCount, rejected, rejectedCount } = batches;
    const keep = skipBad || (rejectedCount === 0 && !hasUnreadable());
    if (keep) {
      await events?.record(origin);
      await reservation.release({ isImported: true });
      onCommit?.();
    } else await reservation.release({ isImported: false }); // while the next import still waits
    return { commit: keep, value: { insertedCount: keep ? insertedCount : 0, rejected, rejectedCount } };
  };
  return withTransaction(servers, importAll, async () => reservation?.release({ isImported: false }));
}

async function* batchesOf<Value>(
  { idOf, rowOf }: ImportTarget<Value>,
  source: ImportSource<Value>,
): AsyncGenerator<Batch> {
  let batch: Row[] = [];
  let characters = 0;
  for await (const item of source) {
    for (const { line, value } of 'line' in item ? [item] : item) {
      const text = rowOf(value);
      batch.push({ id: idOf(value), idText: text.slice(0, text.indexOf('\t')), line, text });
      characters += text.length;
      if (batch.length < BATCH && characters < BATCH_CHARACTERS_MAX) continue;
      yield prepareBatch(batch);
      batch = [];
      characters = 0;
    }
  }
  if (batch.length > 0) yield prepareBatch(batch);
}
