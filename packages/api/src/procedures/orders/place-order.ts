import {
  decidePlacement,
  definitionOf,
  describeValueOf,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  type IdempotencyKey,
  ORDER_FIELDS,
  parseIdempotencyKey,
  petId,
  type RequestedField,
  requestedValuesOf,
} from '@petstore/domain';
import { z } from 'zod';
import { ApiError } from '../../api-error.ts';
import { defineOperation } from '../../define-operation.ts';
import { inputObject } from '../schemas.ts';
import { originOf } from './apply-order-command.ts';
import { INPUT_KINDS } from './order-kinds.ts';

/** What a caller sets. The compiler asks for every field. */
const requested = {
  petId: INPUT_KINDS.int64(ORDER_FIELDS.petId, 'Identifier of the animal; it need not be in the catalogue.'),
  quantity: INPUT_KINDS.wholeNumber(ORDER_FIELDS.quantity),
  shipDate: INPUT_KINDS.instant(ORDER_FIELDS.shipDate).optional(),
} satisfies Record<RequestedField, z.ZodType>;

const idempotencyKeyError = `must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters`;

/** Names the placing of an order: repeating the call with it returns the same order and does not place a second one. */
const idempotencyKey = z
  .string(idempotencyKeyError)
  .refine((text) => parseIdempotencyKey(text) !== undefined, idempotencyKeyError)
  .transform((text) => text as IdempotencyKey) // it was checked
  .optional();

export const placeOrder = defineOperation(
  {
    type: 'mutation',
    repetition: { type: 'idempotency-key' },
    access: 'internal',
    input: inputObject({
      ...requested,
      idempotencyKey,
    }),
  },
  async ({ ctx, input }) => {
    const { orders, clock, announceEvents } = ctx.services;
    const { idempotencyKey, ...facts } = input;
    const request = requestedValuesOf({ ...facts, petId: petId(input.petId) });
    const decision = decidePlacement(request, clock());
    // For safety only: the contract has refused whatever the domain refuses.
    if (!decision.ok) {
      const expected = describeValueOf(definitionOf(decision.reason));
      throw new ApiError('invalid_request', `${decision.reason}: must be ${expected}.`);
    }
    const { placed, order } = await orders.insertOrder(decision.value, originOf(ctx), idempotencyKey);
    if (placed) announceEvents();
    return order;
  },
);
