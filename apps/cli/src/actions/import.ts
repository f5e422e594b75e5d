import type { Order, Pet } from '@petstore/domain';
import type { ActorFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import type { ImportFlags } from '../file-options.ts';
import { plainRowReader, readPlainOrder } from '../import/plain-orders.ts';
import { ORDER_SHAPE, readOrder } from '../import/read-order.ts';
import { PET_SHAPE, readPet } from '../import/read-pet.ts';
import { runImport } from './run-import.ts';

export interface ImportOrdersFlags extends ImportFlags, ActorFlag {}

/** Puts the orders of a file into the database. */
export function importOrders(context: CommandContext, file: string, flags: ImportOrdersFlags) {
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

/** Puts the pets of a file into the database. */
export const importPets = (context: CommandContext, file: string, flags: ImportFlags) =>
  runImport<Pet>(context, file, flags, ({ persistence }) => ({
    shape: PET_SHAPE,
    read: readPet,
    store: (records, options) => persistence.pets.importPets(records, options),
  }));
