import type { OrderStatus, OrderText, Pet } from '@petstore/domain';
import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { ORDER_FORMATS, orderTable } from '../export/order-formats.ts';
import { PET_FORMATS } from '../export/pet-formats.ts';
import type { ExportFlags } from '../file-options.ts';
import type { Session } from '../session.ts';
import { printRecords, runExport } from './run-export.ts';

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
      yield status === undefined ? orders : orders.filter((order) => order.status === status);
    }
  };
