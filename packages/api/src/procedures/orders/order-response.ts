import { type ListedField, ORDER_FIELDS, type OrderField } from '@petstore/domain';
import { z } from 'zod';
import { int64 } from '../../int64.ts';
import { OUTPUT_KINDS } from './order-kinds.ts';

/** Without a full stop: the kind of the field finishes the sentence. */
const ABOUT = {
  id: 'Unique order identifier',
  petId: 'Identifier of the animal in this order',
  quantity: 'Number of units ordered',
  shipDate: 'Expected or actual ship date',
  complete: 'Whether the order has been fulfilled',
  status: 'The state of the order. `complete` is a fact about a shipped order, not a state',
  placedAt: 'When the order was placed',
  shippedAt: 'When the order was shipped',
  completedAt: 'When the order was fulfilled',
  cancelledAt: 'When the order was cancelled',
} as const satisfies Record<OrderField, string>;

/** An order in v2 over REST. The compiler asks for every field. */
export const OrderV2Response = z
  .object({
    id: OUTPUT_KINDS.int64(ORDER_FIELDS.id, ABOUT.id),
    petId: OUTPUT_KINDS.int64(ORDER_FIELDS.petId, ABOUT.petId),
    quantity: OUTPUT_KINDS.wholeNumber(ORDER_FIELDS.quantity, ABOUT.quantity),
    shipDate: OUTPUT_KINDS.instant(ORDER_FIELDS.shipDate, ABOUT.shipDate).optional(),
    complete: OUTPUT_KINDS.boolean(ORDER_FIELDS.complete, ABOUT.complete),
    status: OUTPUT_KINDS.status(ORDER_FIELDS.status, ABOUT.status),
    placedAt: OUTPUT_KINDS.instant(ORDER_FIELDS.placedAt, ABOUT.placedAt),
    shippedAt: OUTPUT_KINDS.instant(ORDER_FIELDS.shippedAt, ABOUT.shippedAt).optional(),
    completedAt: OUTPUT_KINDS.instant(ORDER_FIELDS.completedAt, ABOUT.completedAt).optional(),
    cancelledAt: OUTPUT_KINDS.instant(ORDER_FIELDS.cancelledAt, ABOUT.cancelledAt).optional(),
  } satisfies Record<OrderField, z.ZodType>)
  .meta({ id: 'OrderV2', description: 'An order placed in the store.' });

/** Orders as examples of responses show them. */
export const ORDER_V2_EXAMPLES = {
  shipped: {
    id: '1',
    petId: '7',
    quantity: 2,
    shipDate: '2026-12-01T09:30:00.000Z',
    complete: false,
    status: 'shipped',
    placedAt: '2026-11-28T16:20:00.000Z',
    shippedAt: '2026-12-01T09:30:00.000Z',
  },
  pending: {
    id: '2',
    petId: '7',
    quantity: 1,
    complete: false,
    status: 'pending',
    placedAt: '2026-11-30T10:05:00.000Z',
  },
} satisfies Record<string, z.output<typeof OrderV2Response>>;

/** The fields of an order in v1, which are those of the specification. */
export const V1_FIELDS = ['id', 'petId', 'quantity', 'shipDate', 'complete'] as const satisfies readonly ListedField[];

export type V1Field = (typeof V1_FIELDS)[number];

const { quantity, shipDate, complete } = OrderV2Response.shape;

/** An order in v1 over REST, as the specification has it: ids are numbers, and no field is required. */
export const OrderResponse = z
  .object({ id: int64(`${ABOUT.id}.`), petId: int64(`${ABOUT.petId}.`), quantity, shipDate, complete } satisfies Record<
    V1Field,
    z.ZodType
  >)
  .partial()
  .meta({
    id: 'Order',
    description: 'An order placed in the store.',
    examples: [{ id: 1, petId: 7, quantity: 2, shipDate: '2026-12-01T09:30:00.000Z', complete: false }],
  });
