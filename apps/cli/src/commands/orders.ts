import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { ORDER_STATUSES, type Order, type OrderStatus } from '@petstore/domain';
import { SEED_MAX } from '@petstore/persistence';
import { type Command, Option } from 'commander';
import { type ActorFlag, actorOption, integerParser, type JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { ORDER_FORMATS, orderTable, type WriteOptions, writeOrders } from '../export/order-formats.ts';
import { describeUnfinished, replaceFile } from '../export/output-file.ts';
import { ORDER_SHAPE, readOrder } from '../import/read-order.ts';
import { Progress } from '../progress.ts';
import { addImportOptions, type ImportFlags, runImport } from './import-command.ts';

const COUNT_MAX = 1_000_000_000;
const parseSeed = integerParser('--seed', 0, SEED_MAX);

interface ImportOrdersFlags extends ImportFlags, ActorFlag {}

interface GenerateFlags extends ActorFlag, JsonFlag {
  readonly count: number;
  readonly seed?: number;
}

interface ListFlags extends JsonFlag {
  readonly status?: OrderStatus;
}

interface ExportFlags extends ListFlags {
  readonly format?: 'ndjson' | 'csv';
}

const statusOption = () => new Option('--status <status>', 'Only orders with this status').choices(ORDER_STATUSES);

/** `petstore orders`: many orders at once. */
export function addOrdersCommands(program: Command, context: CommandContext): void {
  const orders = program.command('orders').description('Import, export, list and generate orders');
  addImportOptions(orders.command('import').description('Import orders'), ORDER_SHAPE)
    .addOption(actorOption())
    .action((file: string, flags: ImportOrdersFlags) => importOrders(context, file, flags));
  orders
    .command('generate')
    .description('Generate pending orders')
    .requiredOption('--count <n>', 'Number of orders (required)', integerParser('--count', 1, COUNT_MAX))
    .option('--seed <s>', `0 to ${SEED_MAX}; the same seed generates the same orders (default: random)`, parseSeed)
    .addOption(actorOption())
    .action((flags: GenerateFlags) => generateOrders(context, flags));
  orders
    .command('list')
    .description('List orders')
    .addOption(statusOption())
    .action((flags: ListFlags) => listOrders(context, flags));
  orders
    .command('export')
    .description('Export orders to a file that can be imported')
    .argument('<FILE>', 'File to write; - writes to standard output')
    .addOption(statusOption())
    .addOption(
      new Option('--format <format>', 'Format (default: csv for names that end in .csv, else ndjson)').choices([
        'ndjson',
        'csv',
      ]),
    )
    .action((file: string, flags: ExportFlags) => exportOrders(context, file, flags));
}

function importOrders(context: CommandContext, file: string, flags: ImportOrdersFlags) {
  const now = context.clock();
  const origin = { actor: flags.as ?? context.operator() };
  return runImport<Order>(context, file, flags, ({ persistence }) => ({
    shape: ORDER_SHAPE,
    read: (fields) => readOrder(fields, now),
    store: (records, options) => persistence.orders.importOrders(records, { ...options, origin }),
  }));
}

async function generateOrders(context: CommandContext, flags: GenerateFlags) {
  const { clock, operator, interruption, withSession, output } = context;
  const { count, seed, as: actor = operator(), json } = flags;
  const progress = new Progress(output, 'generated');
  const options = {
    count,
    seed: seed ?? randomInt(SEED_MAX),
    now: clock(),
    origin: { actor },
    onProgress(generated: number) {
      progress.advance(generated, generated / count);
      if (generated === count) progress.awaits('recording them'); // as events
    },
    onCommit() {
      progress.awaits('committing');
      interruption.commits();
    },
  };
  interruption.leaves('Nothing was generated.');
  const inserted = await withSession(async ({ persistence }) => {
    const generated = await persistence.orders.generateOrders(options);
    interruption.leaves(generatedText(generated));
    return generated;
  });
  await (json ? output.writeJson({ inserted }) : output.write(`${generatedText(inserted)}\n`));
}

const generatedText = (count: number): string => `${count.toLocaleString('en')} generated.`;

async function listOrders(context: CommandContext, { status, json }: ListFlags) {
  const { output } = context;
  if (json) return void (await printOrders(context, ORDER_FORMATS.array, status));
  const count = await printOrders(context, orderTable(output.columns, context.clock()), status);
  if (count === 0) output.message(status === undefined ? 'No orders.' : `No ${status} orders.`);
}

async function exportOrders(context: CommandContext, file: string, { status, format, json }: ExportFlags) {
  const { output, interruption, userFolder, withSession } = context;
  const written = ORDER_FORMATS[format ?? (file.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson')];
  if (file === '-') return void (await printOrders(context, json ? ORDER_FORMATS.array : written, status));
  const path = resolve(userFolder, file);
  const progress = new Progress(output, 'exported');
  interruption.leaves(describeUnfinished(path));
  const exported = await withSession(async ({ persistence }) => {
    const count = await replaceFile(path, (write) =>
      writeOrders(persistence.orders.listOrders(), {
        format: written,
        ...(status && { status }),
        write,
        onProgress: (count) => progress.advance(count),
      }),
    );
    interruption.leaves(exportedText(count, path));
    return count;
  });
  if (json) await output.writeJson({ exported });
  else await output.write(`${exportedText(exported, path)}\n`);
}

const exportedText = (count: number, path: string): string => `${count.toLocaleString('en')} exported to ${path}`;

/** @returns how many there were */
function printOrders(
  { output, interruption, withSession }: CommandContext,
  format: WriteOptions['format'],
  status: OrderStatus | undefined,
): Promise<number> {
  interruption.leaves('The output is incomplete.');
  return withSession(({ persistence }) =>
    writeOrders(persistence.orders.listOrders(), {
      format,
      ...(status && { status }),
      write: (text) => output.write(text),
    }),
  );
}
