import { randomInt } from 'node:crypto';
import { GENERATION_SEED_MAX, ORDER_STATUSES, type OrderStatus } from '@petstore/domain';
import { type Command, Option } from 'commander';
import { type ActorFlag, actorOption, integerParser, type JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { addExportOptions, addImportOptions, type ExportFlags, type ImportFlags } from '../files/options.ts';
import { FIELDS_IN_WORDS, FLEXIBLE_FIELDS } from '../files/order-fields.ts';
import { writeTable } from '../table.ts';

interface GenerateFlags extends ActorFlag {
  readonly count: number;
  readonly seed?: number;
}

interface ListFlags extends JsonFlag {
  readonly status?: OrderStatus;
}

const COUNT_MAX = 1_000_000_000;

/** `petstore orders`: operations on many orders. */
export function addOrdersCommands(program: Command, context: CommandContext): void {
  const statusOption = new Option('--status <status>', 'Only orders with this status').choices(ORDER_STATUSES);
  const orders = program.command('orders').description('Import, export, list and generate orders');
  addImportOptions(orders.command('import').description('Import orders'))
    .addOption(actorOption())
    .addHelpText('after', `\nFields: ${FIELDS_IN_WORDS}`)
    .action(async (file: string, flags: ImportFlags & ActorFlag) => {
      const { runImport } = await import('../files/import.ts');
      const { importOrders } = await import('../files/order-records.ts');
      await runImport(context, file, flags, importOrders(flags.as));
    });
  orders
    .command('generate')
    .description('Generate pending orders')
    .requiredOption('--count <n>', 'Number of orders (required)', integerParser('--count', 1, COUNT_MAX))
    .option(
      '--seed <s>',
      `0 to ${GENERATION_SEED_MAX}; the same seed generates the same orders (default: random)`,
      integerParser('--seed', 0, GENERATION_SEED_MAX),
    )
    .addOption(actorOption())
    .action((flags: GenerateFlags) => generateOrders(context, flags));
  orders
    .command('list')
    .description('List orders')
    .addOption(statusOption)
    .action((flags: ListFlags) => listOrders(context, flags));
  addExportOptions(orders.command('export').description('Export orders to a file that can be imported'))
    .addOption(statusOption)
    .action(async (file: string, flags: ExportFlags & ListFlags) => {
      const { runExport } = await import('../files/export.ts');
      const { exportOrders } = await import('../files/order-records.ts');
      await runExport(context, file, flags, exportOrders(flags.status));
    });
}

/** Generates orders. */
async function generateOrders({ interruption, withSession, output }: CommandContext, flags: GenerateFlags) {
  const { count, seed = randomInt(GENERATION_SEED_MAX), as: actor, json } = flags;
  const { Progress } = await import('../progress.ts');
  interruption.setOutcome('Nothing was generated.');
  const summaryOf = (generated: number) => `${generated.toLocaleString('en')} generated.`;
  const inserted = await withSession(async ({ persistence }) => {
    const progress = new Progress(output, 'generated', count);
    const generated = await persistence.orders.generateOrders({
      count,
      seed,
      now: new Date(),
      origin: { actor },
      onProgress(done) {
        progress.advance(done);
        if (done === count) progress.awaits('recording them'); // as events
      },
      onCommit() {
        progress.awaits('committing');
        interruption.beginCommit();
      },
    });
    interruption.setOutcome(summaryOf(generated));
    return generated;
  });
  await (json ? output.writeJson({ inserted }) : output.write(`${summaryOf(inserted)}\n`));
}

/** Prints orders. */
async function listOrders(context: CommandContext, { status, json }: ListFlags): Promise<void> {
  const { interruption, withSession, output } = context;
  const { printRecords } = await import('../files/export.ts');
  const { exportOrders, orderRow } = await import('../files/order-records.ts');
  const { list, formats } = exportOrders(status);
  if (json) return printRecords(context, list, formats.array);
  interruption.setOutcome('The output is incomplete.');
  await withSession(async (session) => {
    let hasHead = true;
    for await (const orders of list(session)) {
      if (orders.length === 0) continue;
      const rows = orders.map((order) => orderRow(order, output.columns !== undefined));
      await writeTable(output, rows, { flexible: FLEXIBLE_FIELDS, hasHead });
      hasHead = false;
    }
    if (hasHead) output.message(status === undefined ? 'No orders.' : `No ${status} orders.`);
  });
}
