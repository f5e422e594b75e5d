import { ORDER_STATUSES, QUANTITY_MAX } from '@petstore/domain';
import { z } from 'zod';
import { int64, int64AsText } from '../../int64.ts';
import { oneOf, timeAsText } from '../schemas.ts';

/** An order in v1 over REST, as the specification has it: it has no status, and no field is required. */
export const OrderResponse = z
  .object({
    id: int64('Unique order identifier.'),
    petId: int64('Identifier of the animal in this order.'),
    quantity: z
      .int()
      .min(1)
      .max(QUANTITY_MAX)
      .meta({ description: `Number of units ordered, 1 to ${QUANTITY_MAX}.` }),
    shipDate: timeAsText('Expected or actual ship date, in UTC with milliseconds. Omitted if it is not known.'),
    complete: z.boolean().meta({ description: 'Whether the order has been fulfilled.' }),
  })
  .partial()
  .meta({
    id: 'Order',
    description: 'An order placed in the store.',
    examples: [{ id: 1, petId: 7, quantity: 2, shipDate: '2026-12-01T09:30:00.000Z', complete: false }],
  });

const { quantity, shipDate, complete } = OrderResponse.shape;

/** An order in v2 over REST: the fields of v1, with ids as strings, and the status. */
export const OrderV2Response = z
  .object({
    id: int64AsText('Unique order identifier.'),
    petId: int64AsText('Identifier of the animal in this order.'),
    quantity: quantity.unwrap(),
    shipDate,
    complete: complete.unwrap(),
    status: oneOf(ORDER_STATUSES, 'The state of the order. `complete` is a fact about a shipped order, not a state.'),
  })
  .meta({ id: 'OrderV2', description: 'An order placed in the store.' });
