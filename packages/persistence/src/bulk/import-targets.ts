import type { Order, Pet } from '@petstore/domain';
import type pg from 'pg';
import { COLUMN_OF_FIELD } from '../orders/order-rows.ts';
import { COPY_NULL, copyText } from './copy-into.ts';
import type { IdReservation, ImportTarget } from './import-target.ts';
import { ImportedEvents } from './imported-events.ts';
import { OrderIdReservation } from './order-ids.ts';

export const ORDER_TARGET: ImportTarget<Order> = {
  table: 'orders',
  noun: 'an order',
  columns: Object.values(COLUMN_OF_FIELD),
  idOf: (order) => order.id,
  reserveIds: (client) => new OrderIdReservation(client),
  beginEvents: (client) => ImportedEvents.begin(client),
  rowOf: (order) => {
    const facts = `${order.id}\t${order.petId}\t${order.quantity}\t${order.shipDate?.toISOString() ?? COPY_NULL}`;
    const shippedAt = transitionText(order.status === 'shipped' ? order.shippedAt : undefined);
    const completedAt = transitionText(order.complete ? order.completedAt : undefined);
    const cancelledAt = transitionText(order.status === 'cancelled' ? order.cancelledAt : undefined);
    const times = `${transitionText(order.placedAt)}\t${shippedAt}\t${completedAt}\t${cancelledAt}`;
    return `${facts}\t${order.status}\t${order.complete}\t${times}\n`;
  },
};

export const PET_TARGET: ImportTarget<Pet> = {
  table: 'pets',
  noun: 'a pet',
  columns: ['id', 'name'],
  idOf: (pet) => pet.id,
  reserveIds: (client) => new PetIdReservation(client),
  rowOf: (pet) => `${pet.id}\t${copyText(pet.name)}\n`,
};

let lastTime: Date | undefined;
let lastText = '';

/** The transitions of all orders of an import most often have one time, and writing it takes longer than all the rest. */
function transitionText(time: Date | undefined): string {
  if (time === undefined) return COPY_NULL;
  if (time !== lastTime) lastText = time.toISOString();
  lastTime = time;
  return lastText;
}

/** Any number that nothing else in the database locks. */
const PETS_LOCK = '8099007544119226983';

/** Nothing but imports brings pets, so it is enough that they take turns. */
class PetIdReservation implements IdReservation {
  readonly #client: pg.Client;
  #isLocked = false;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  async include(): Promise<void> {
    if (!this.#isLocked) await this.#client.query(`select pg_advisory_xact_lock(${PETS_LOCK})`);
    this.#isLocked = true;
  }

  async release(): Promise<void> {} // the lock ends with the transaction
}
