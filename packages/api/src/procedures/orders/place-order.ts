import { placeOrder as decidePlacement, type PlacementReason, petId } from '@petstore/domain';
import { ApiError } from '../../api-error.ts';
import { internalProcedure } from '../../trpc/trpc.ts';
import { originOf } from './apply-order-command.ts';
import { placeOrderContract } from './place-order.contract.ts';

/** The contract refuses both before the domain is called; the domain checks them again for safety only. */
const MESSAGE_OF_REASON = {
  quantity_out_of_range: 'quantity: out of range.',
  ship_date_out_of_range: 'shipDate: out of range.',
} as const satisfies Record<PlacementReason, string>;

export const placeOrder = internalProcedure
  .meta(placeOrderContract)
  .input(placeOrderContract.input)
  .mutation(async ({ ctx, input }) => {
    const { orders, clock, announceEvents } = ctx.services;
    const { shipDate, idempotencyKey } = input;
    const request = { petId: petId(input.petId), quantity: input.quantity };
    const decision = decidePlacement(shipDate === undefined ? request : { ...request, shipDate }, clock());
    if (!decision.ok) throw new ApiError('invalid_request', MESSAGE_OF_REASON[decision.reason]);
    const { placed, order } = await orders.insertOrder(decision.value, originOf(ctx), idempotencyKey);
    if (placed) announceEvents();
    return order;
  });
