import {
  EVENT_WAIT_MAX_SECONDS,
  ORDER_EVENT_TYPES,
  type OrderEvent,
  type OrderEventPage,
  type OrderId,
  PAGE_LIMIT_MAX,
  parseOrderEventId,
} from '@petstore/domain';
import { z } from 'zod';
import { defineOperation } from '../../define-operation.ts';
import { int64AsText } from '../../int64.ts';
import { eventIdText, eventPosition, inputObject, oneOf, pageLimit, timeAsText } from '../schemas.ts';
import { OrderV2Response } from './order-response.ts';

const waitError = `must be a whole number from 0 to ${EVENT_WAIT_MAX_SECONDS}`;

const ListOrderEventsInput = inputObject({
  after: eventPosition
    .meta({
      maxLength: 19,
      pattern: '^(0|[1-9][0-9]{0,18})$',
      description:
        'The `id` of an event, or `nextAfter` of a response: only later events are returned. `0` begins with the oldest ' +
        'retained event. If omitted, only events from now on are returned: none without `wait`, and `nextAfter` is the ' +
        'current position.',
      examples: ['0'],
    })
    .optional(),
  limit: pageLimit('Maximum number of events in the response.'),
  waitSeconds: z
    .int(waitError)
    .min(0, waitError)
    .max(EVENT_WAIT_MAX_SECONDS, waitError)
    .default(0)
    .meta({
      format: 'int32',
      description:
        'How long the response may wait for an event if there is none yet, in seconds. It is sent with the first event, or ' +
        'empty after this time.',
      examples: [EVENT_WAIT_MAX_SECONDS],
    }),
});

const OrderEventResponse = z
  .object({
    id: eventIdText('Identifies the event, and is the position after it. A later event has a larger number.'),
    type: oneOf(
      ORDER_EVENT_TYPES,
      'What happened. `order.imported` is reported for imported and generated orders, whatever their status.',
    ),
    orderId: int64AsText('Identifier of the order.'),
    at: timeAsText('When it happened, in UTC with milliseconds. A later event may have an earlier time.'),
    order: OrderV2Response,
  })
  .meta({ id: 'OrderEvent', description: 'A change of an order, and the order as it was after the change.' });

const OrderEventsResponse = z
  .object({
    events: z.array(OrderEventResponse).max(PAGE_LIMIT_MAX).meta({ description: 'Oldest first.' }),
    nextAfter: eventIdText(
      'The value to send as `after` in the next request. It stays the same while there are no new events.',
    ),
  })
  .meta({ id: 'OrderEvents', description: 'Changes of orders, and the position to continue from.' });

/** A change of an order, as callers see it: who acted is not told. */
export interface ListedOrderEvent {
  /** Decimal digits. A later event has a larger number. */
  readonly id: string;
  readonly type: OrderEvent['type'];
  readonly orderId: OrderId;
  readonly at: Date;
  /** The order after the change. */
  readonly order: OrderEvent['order'];
}

/** Some changes of orders, in the order in which they are to be applied. */
export interface OrderEvents {
  readonly events: readonly ListedOrderEvent[];
  /** The value to send as `after` next: that which was sent if there is nothing new. */
  readonly nextAfter: string;
}

/** Reads changes of orders, and waits for the first if there is none. */
export const listOrderEvents = defineOperation(
  {
    type: 'query',
    input: ListOrderEventsInput,
    versions: { v2: 'experimental' },
    openapi: {
      method: 'GET',
      path: '/store/order-events',
      operationId: 'listOrderEvents',
      summary: 'Follow the changes of orders',
      description:
        'Returns the changes of orders after a position, oldest first. Call again with `nextAfter`. With `wait`, a call that ' +
        'finds no change waits for one. Of one key 64 calls wait at a time; further calls, and all calls while the server ' +
        'stops, get their response at once, as with `wait=0`. No change is missed, whichever transaction commits first, ' +
        'and the changes of one order arrive in the order in which they were made. Ids are not consecutive. Events are ' +
        'retained for 30 days, unless the operator of the service configures another period.',
      tags: ['orders'],
      successDescription: 'The changes after the position.',
    },
    rest: {
      response: OrderEventsResponse,
      examples: {
        changes: {
          summary: 'An order was placed, and cancelled.',
          value: {
            events: [
              {
                id: '21',
                type: 'order.placed',
                orderId: '9',
                at: '2026-12-01T09:30:00.000Z',
                order: {
                  id: '9',
                  petId: '7',
                  quantity: 1,
                  complete: false,
                  status: 'pending',
                  placedAt: '2026-12-01T09:30:00.000Z',
                },
              },
              {
                id: '23',
                type: 'order.cancelled',
                orderId: '9',
                at: '2026-12-01T09:31:12.345Z',
                order: {
                  id: '9',
                  petId: '7',
                  quantity: 1,
                  complete: false,
                  status: 'cancelled',
                  placedAt: '2026-12-01T09:30:00.000Z',
                  cancelledAt: '2026-12-01T09:31:12.345Z',
                },
              },
            ],
            nextAfter: '23',
          },
        },
        nothing: { summary: 'Nothing has changed since.', value: { events: [], nextAfter: '23' } },
      },
      parameterNames: { waitSeconds: 'wait' },
      invalidRequest: 'after: must be the id of an event, or 0 for the beginning of the retained events.',
      errors: ['events_expired'],
    },
  },
  async ({ ctx, input }): Promise<OrderEvents> => {
    const { events } = ctx.services;
    const { after, limit, waitSeconds } = input;
    const page = await events.readEvents(parseOrderEventId(after ?? '') ?? 'now', limit);
    if (page.events.length > 0 || waitSeconds === 0) return orderEventsOf(page);
    const awaited = await ctx.wait?.(waitSeconds * 1_000, (signal) =>
      events.waitForEvents(page.nextAfter, limit, signal),
    );
    return orderEventsOf(awaited ?? page);
  },
);

const orderEventsOf = ({ events, nextAfter }: OrderEventPage): OrderEvents => ({
  events: events.map(({ id, type, at, order }) => ({ id: id.toString(), type, orderId: order.id, at, order })),
  nextAfter: nextAfter.toString(),
});
