import { randomInt } from 'node:crypto';
import { ORDER_STATUSES, type Order, type OrderListing, type OrderStatus } from '@petstore/domain';
import { SEED_MAX } from '@petstore/persistence';
import { type Command, Option } from 'commander';
import { type ActorFlag, actorOption, integerParser, type JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { ORDER_FORMATS, orderTable } from '../export/order-formats.ts';
import { plainRowReader, readPlainOrder } from '../import/plain-orders.ts';
import { ORDER_SHAPE, readOrder } from '../import/read-order.ts';
import { Progress } from '../progress.ts';
import { MAY_MAKE_DATABASE, type Session } from '../session.ts';
import { addExportOptions, type ExportFlags, printRecords, runExport } from './export-command.ts';
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

interface ExportOrdersFlags extends ExportFlags, ListFlags {}

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
  addExportOptions(orders.command('export').description('Export orders to a file that can be imported'))
    .addOption(statusOption())
    .action((file: string, flags: ExportOrdersFlags) =>
      runExport<Order>(context, file, flags, {
        list: lister(flags),
        count: ({ persistence }) => persistence.orders.countOrders(flags.status),
        formats: ORDER_FORMATS,
      }),
    );
}

function importOrders(context: CommandContext, file: string, flags: ImportOrdersFlags) {
  const now = context.clock();
  const origin = { actor: flags.as ?? context.operator() };
  return runImport<Order>(context, file, flags, ({ persistence }) => ({
    shape: ORDER_SHAPE,
    read: (fields) => readOrder(fields, now),
    plain: {
      readLine: (line) => readPlainOrder(line, now),
      rowReader: (header) => plainRowReader(header, now),
    },
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
  }, MAY_MAKE_DATABASE);
  await (json ? output.writeJson({ inserted }) : output.write(`${generatedText(inserted)}\n`));
}

const generatedText = (count: number): string => `${count.toLocaleString('en')} generated.`;

async function listOrders(context: CommandContext, flags: ListFlags) {
  const { output, clock } = context;
  const { status, json } = flags;
  const format = json ? ORDER_FORMATS.array : orderTable(output.columns, clock());
  const count = await printRecords(context, lister(flags), format);
  if (count === 0 && !json) output.message(status === undefined ? 'No orders.' : `No ${status} orders.`);
}

const lister =
  ({ status }: ListFlags) =>
  ({ persistence }: Session): AsyncIterable<readonly Order[]> => {
    const all = persistence.orders.listOrders();
    return status === undefined ? all : ordersWith(status, all);
  };

async function* ordersWith(status: OrderStatus, listing: OrderListing): AsyncGenerator<readonly Order[]> {
  for await (const batch of listing) yield batch.filter((order) => order.status === status);
}
