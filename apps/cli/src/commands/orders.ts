import { GENERATION_SEED_MAX, ORDER_STATUSES } from '@petstore/domain';
import { type Command, Option } from 'commander';
import type { ExportOrdersFlags, ListFlags } from '../actions/export.ts';
import type { GenerateFlags } from '../actions/generate-orders.ts';
import type { ImportOrdersFlags } from '../actions/import.ts';
import { actorOption, integerParser } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { addExportOptions, addImportOptions } from '../file-options.ts';
import { ORDER_SHAPE } from '../import/read-order.ts';

const COUNT_MAX = 1_000_000_000;
const parseSeed = integerParser('--seed', 0, GENERATION_SEED_MAX);

const statusOption = () => new Option('--status <status>', 'Only orders with this status').choices(ORDER_STATUSES);

const exportActions = () => import('../actions/export.ts');

/** `petstore orders`: many orders at once. */
export function addOrdersCommands(program: Command, context: CommandContext): void {
  const orders = program.command('orders').description('Import, export, list and generate orders');
  addImportOptions(orders.command('import').description('Import orders'), ORDER_SHAPE)
    .addOption(actorOption())
    .action(async (file: string, flags: ImportOrdersFlags) => {
      const { importOrders } = await import('../actions/import.ts');
      await importOrders(context, file, flags);
    });
  orders
    .command('generate')
    .description('Generate pending orders')
    .requiredOption('--count <n>', 'Number of orders (required)', integerParser('--count', 1, COUNT_MAX))
    .option(
      '--seed <s>',
      `0 to ${GENERATION_SEED_MAX}; the same seed generates the same orders (default: random)`,
      parseSeed,
    )
    .addOption(actorOption())
    .action(async (flags: GenerateFlags) => {
      const { generateOrders } = await import('../actions/generate-orders.ts');
      await generateOrders(context, flags);
    });
  orders
    .command('list')
    .description('List orders')
    .addOption(statusOption())
    .action(async (flags: ListFlags) => (await exportActions()).listOrders(context, flags));
  addExportOptions(orders.command('export').description('Export orders to a file that can be imported'))
    .addOption(statusOption())
    .action(async (file: string, flags: ExportOrdersFlags) =>
      (await exportActions()).exportOrders(context, file, flags),
    );
}
