import type { Order, Pet } from '@petstore/domain';
import type { ImportTarget } from './import-rows.ts';
import { OrderIdReservation } from './order-ids.ts';

const timeText = (time: Date | undefined): string | null => time?.toISOString() ?? null;

export const ORDER_TARGET: ImportTarget<Order> = {
  table: 'orders',
  noun: 'an order',
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'pet_id', type: 'bigint' },
    { name: 'quantity', type: 'integer' },
    { name: 'ship_date', type: 'timestamptz' },
    { name: 'status', type: 'text' },
    { name: 'complete', type: 'boolean' },
    { name: 'placed_at', type: 'timestamptz' },
    { name: 'shipped_at', type: 'timestamptz' },
    { name: 'completed_at', type: 'timestamptz' },
    { name: 'cancelled_at', type: 'timestamptz' },
  ],
  idOf: (order) => order.id,
  reserveIds: (client) => new OrderIdReservation(client),
  textsOf: (order) => [
    order.id.toString(),
    order.petId.toString(),
    order.quantity.toString(),
    timeText(order.shipDate),
    order.status,
    order.complete.toString(),
    timeText(order.placedAt),
    timeText(order.status === 'shipped' ? order.shippedAt : undefined),
    timeText(order.complete ? order.completedAt : undefined),
    timeText(order.status === 'cancelled' ? order.cancelledAt : undefined),
  ],
};

export const PET_TARGET: ImportTarget<Pet> = {
  table: 'pets',
  noun: 'a pet',
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'name', type: 'text' },
  ],
  idOf: (pet) => pet.id,
  textsOf: (pet) => [pet.id.toString(), pet.name],
};
