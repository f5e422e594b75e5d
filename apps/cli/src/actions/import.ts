import { resolve } from 'node:path';
import type { ImportItem, ImportOptions, ImportResult, ImportSource } from '@petstore/persistence';
import type { ActorFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { ImportRejectedError } from '../errors.ts';
import type { ImportFlags } from '../file-options.ts';
import { ORDER_SHAPE, readOrder } from '../import/read-order.ts';
import { PET_SHAPE, readPet } from '../import/read-pet.ts';
import { type RawRecord, type RecordShape, readRecords } from '../import/read-records.ts';
import { readInputFile, sizeOf } from '../input-file.ts';
import { Progress } from '../progress.ts';
import { MAY_MAKE_DATABASE, type Session } from '../session.ts';

export interface ImportOrdersFlags extends ImportFlags, ActorFlag {}

/** Puts the orders of a file into the database. */
export function importOrders(context: CommandContext, file: string, flags: ImportOrdersFlags) {
  const now = context.clock();
  const origin = { actor: flags.as ?? context.operator() };
  return runImport(context, file, flags, {
    shape: ORDER_SHAPE,
    read: (record) => readOrder(record, now),
    store: ({ persistence }, orders, options) => persistence.orders.importOrders(orders, { ...options, origin }),
  });
}

/** Puts the pets of a file into the database. */
export const importPets = (context: CommandContext, file: string, flags: ImportFlags) =>
  runImport(context, file, flags, {
    shape: PET_SHAPE,
    read: readPet,
    store: ({ persistence }, pets, options) => persistence.pets.importPets(pets, options),
  });

/** How one kind of record is read and stored. */
interface ImportKind<Value> {
  readonly shape: RecordShape;
  readonly read: (record: RawRecord) => ImportItem<Value>;
  readonly store: (session: Session, records: ImportSource<Value>, options: ImportOptions) => Promise<ImportResult>;
}

/**
 * Imports a file as a stream, and prints the report.
 *
 * @throws ImportRejectedError if a record was rejected and --skip-bad was not given
 * @throws UnreadableInputError if the file cannot be read at all; nothing is imported then
 */
async function runImport<Value>(
  context: CommandContext,
  file: string,
  flags: ImportFlags,
  { shape, read, store }: ImportKind<Value>,
): Promise<void> {
  const { output, interruption, stdin, userFolder, withSession } = context;
  const skipBad = flags.skipBad === true;
  const path = file === '-' ? undefined : resolve(userFolder, file);
  const totalBytes = path === undefined ? undefined : sizeOf(path);
  const progress = new Progress(output, 'read');

  async function* records() {
    let readBytes = 0;
    let readCount = 0;
    async function* counted() {
      for await (const chunk of path === undefined ? stdin : readInputFile(path)) {
        readBytes += chunk.byteLength;
        yield chunk;
      }
    }
    for await (const batch of readRecords(counted(), shape)) {
      yield batch.map((record) => ('reason' in record ? record : read(record)));
      readCount += batch.length;
      progress.advance(readCount, totalBytes ? Math.min(1, readBytes / totalBytes) : undefined);
    }
    progress.awaits('inserting');
  }
  const onCommit = () => {
    progress.awaits('committing');
    interruption.commits();
  };

  interruption.leaves('Nothing was imported.');
  const result = await withSession(async (session) => {
    const imported = await store(session, records(), { skipBad, onCommit });
    interruption.leaves(summaryOf(imported));
    return imported;
  }, MAY_MAKE_DATABASE);
  const isRefused = result.rejectedCount > 0 && !skipBad;
  if (flags.json) await output.writeJson(reportOf(result));
  else {
    showRejected(output, result);
    if (isRefused) output.message('Nothing was imported. Fix these lines, or pass --skip-bad.');
    else await output.write(`${summaryOf(result)}\n`);
  }
  if (isRefused) throw new ImportRejectedError();
}

const summaryOf = ({ insertedCount, readCount }: ImportResult): string =>
  `${insertedCount.toLocaleString('en')} of ${readCount.toLocaleString('en')} imported.`;

/** `notListed` is how many were rejected beyond those that are listed; it is there only if there are any. */
function reportOf({ readCount, insertedCount, rejected, rejectedCount }: ImportResult) {
  const notListed = rejectedCount - rejected.length;
  return { read: readCount, inserted: insertedCount, rejected, ...(notListed > 0 && { notListed }) };
}

/** Rejected lines that are shown without `--json`, which has more of them. */
const REJECTED_SHOWN_MAX = 20;

function showRejected({ message }: CommandContext['output'], { rejected, rejectedCount }: ImportResult): void {
  for (const { line, reason } of rejected.slice(0, REJECTED_SHOWN_MAX)) message(`line ${line}: ${reason}`);
  const more = rejectedCount - REJECTED_SHOWN_MAX;
  if (more <= 0) return;
  const which = rejectedCount === rejected.length ? 'them all' : `the first ${rejected.length.toLocaleString('en')}`;
  message(`and ${more.toLocaleString('en')} more; --json lists ${which}`);
}
