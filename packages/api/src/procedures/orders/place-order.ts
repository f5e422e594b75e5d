import {
  placeOrder as decidePlacement,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  type IdempotencyKey,
  type PlacementReason,
  parseIdempotencyKey,
  petId,
  QUANTITY_MAX,
  QUANTITY_MIN,
  SHIP_DATE_MAX,
  SHIP_DATE_MIN,
} from '@petstore/domain';
import { z } from 'zod';
import { ApiError } from '../../api-error.ts';
import { defineOperation } from '../../define-operation.ts';
import { int64 } from '../../int64.ts';
import { inputObject } from '../schemas.ts';
import { originOf } from './apply-order-command.ts';

const quantityError = `must be a whole number from ${QUANTITY_MIN} to ${QUANTITY_MAX}`;
const shipDateError = `must be a time from ${SHIP_DATE_MIN.toISOString()} to ${SHIP_DATE_MAX.toISOString()}`;

const idempotencyKeyError = `must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters`;

/** Names the placing of an order: repeating the call with it returns the same order and does not place a second one. */
const idempotencyKey = z
  .string(idempotencyKeyError)
  .refine((text) => parseIdempotencyKey(text) !== undefined, idempotencyKeyError)
  .transform((text) => text as IdempotencyKey) // it was checked
  .optional();

/** The contract refuses both before the domain is called; the domain checks them again for safety only. */
const MESSAGE_OF_REASON = {
  quantity_out_of_range: 'quantity: out of range.',
  ship_date_out_of_range: 'shipDate: out of range.',
} as const satisfies Record<PlacementReason, string>;

export const placeOrder = defineOperation(
  {
    type: 'mutation',
    repetition: { type: 'idempotency-key' },
    access: 'internal',
    input: inputObject({
      petId: int64('Identifier of the animal; it need not be in the catalogue.'),
      quantity: z.int(quantityError).min(QUANTITY_MIN, quantityError).max(QUANTITY_MAX, quantityError),
      shipDate: z.date(shipDateError).min(SHIP_DATE_MIN, shipDateError).max(SHIP_DATE_MAX, shipDateError).optional(),
      idempotencyKey,
    }),
  },
  async ({ ctx, input }) => {
    const { orders, clock, announceEvents } = ctx.services;
    const { shipDate, idempotencyKey } = input;
    const request = { petId: petId(input.petId), quantity: input.quantity };
    const decision = decidePlacement(shipDate === undefined ? request : { ...request, shipDate }, clock());
    if (!decision.ok) throw new ApiError('invalid_request', MESSAGE_OF_REASON[decision.reason]);
    const { placed, order } = await orders.insertOrder(decision.value, originOf(ctx), idempotencyKey);
    if (placed) announceEvents();
    return order;
  },
);
