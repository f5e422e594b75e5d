import { resolve } from 'node:path';
import type { OrderStatus, OrderText, Pet } from '@petstore/domain';
import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { formatRecords, ORDER_FORMATS, orderTable, PET_FORMATS, type RecordFormat } from '../export/formats.ts';
import { describeUnfinished, replaceFile } from '../export/output-file.ts';
import type { ExportFlags, FileFormat } from '../file-options.ts';
import { Progress } from '../progress.ts';
import type { Session } from '../session.ts';

export interface ListFlags extends JsonFlag {
  readonly status?: OrderStatus;
}

export interface ExportOrdersFlags extends ExportFlags, ListFlags {}

/** Writes orders to a file, or to standard output. */
export const exportOrders = (context: CommandContext, file: string, flags: ExportOrdersFlags) =>
  runExport<OrderText>(context, file, flags, {
    list: lister(flags),
    count: ({ persistence }) => persistence.orders.countOrders(flags.status),
    formats: ORDER_FORMATS,
  });

/** The same for pets. */
export const exportPets = (context: CommandContext, file: string, flags: ExportFlags) =>
  runExport<Pet>(context, file, flags, {
    list: ({ persistence }) => persistence.pets.listPets(),
    count: ({ persistence }) => persistence.pets.countPets(),
    formats: PET_FORMATS,
  });

/** Prints orders. */
export async function listOrders(context: CommandContext, flags: ListFlags) {
  const { output, clock } = context;
  const { status, json } = flags;
  const format = json ? ORDER_FORMATS.array : orderTable(output.columns, clock());
  const count = await printRecords(context, lister(flags), format);
  if (count === 0 && !json) output.message(status === undefined ? 'No orders.' : `No ${status} orders.`);
}

const lister = ({ status }: ListFlags) =>
  async function* list({ persistence }: Session): AsyncGenerator<readonly OrderText[], void, void> {
    for await (const { orders } of persistence.orders.listOrderTexts()) {
      yield [...orders].filter((order) => status === undefined || order.status === status);
    }
  };

/** Where the records of a kind come from, and how they are written. */
interface ExportKind<Value> {
  readonly list: (session: Session) => AsyncIterable<readonly Value[]>;
  /** How many there are. */
  readonly count: (session: Session) => Promise<number>;
  readonly formats: Readonly<Record<FileFormat | 'array', RecordFormat<Value>>>;
}

/** Exports records to a file, and says how many; or to standard output. */
async function runExport<Value>(
  context: CommandContext,
  file: string,
  { format = file.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson', json }: ExportFlags,
  { list, count, formats }: ExportKind<Value>,
): Promise<void> {
  if (file === '-') return void (await printRecords(context, list, formats[json ? 'array' : format]));
  const { output, interruption, userFolder, withSession } = context;
  const path = resolve(userFolder, file);
  const progress = new Progress(output, 'exported');
  let exported = 0;
  const summary = () => `${exported.toLocaleString('en')} exported to ${path}`;
  interruption.leaves(describeUnfinished(path));
  await withSession(async (session) => {
    const total = output.showsProgress ? await count(session) : undefined;
    const onProgress = (done: number) => {
      exported = done;
      progress.advance(done, total ? Math.min(1, done / total) : undefined);
    };
    await replaceFile(path, formatRecords(list(session), formats[format], onProgress));
    interruption.leaves(summary());
  });
  if (json) await output.writeJson({ exported });
  else await output.write(`${summary()}\n`);
}

/** Writes records to standard output. @returns how many there were */
function printRecords<Value>(
  { output, interruption, withSession }: CommandContext,
  list: ExportKind<Value>['list'],
  format: RecordFormat<Value>,
): Promise<number> {
  interruption.leaves('The output is incomplete.');
  return withSession(async (session) => {
    let count = 0;
    const texts = formatRecords(list(session), format, (done) => {
      count = done;
    });
    for await (const text of texts) await output.write(text);
    return count;
  });
}
