import type { OrderRepository } from '@petstore/domain';

/**
 * Wraps orders and reports each change of them, for which an event has been recorded.
 *
 * @param orders an object whose methods need no `this`
 * @param onChange called for each order that is placed or changed through the result, before the caller gets its response
 */
export const reportingChanges = (orders: OrderRepository, onChange: () => void): OrderRepository => ({
  ...orders,
  async insertOrder(...call) {
    const placement = await orders.insertOrder(...call);
    if (placement.placed) onChange();
    return placement;
  },
  async applyCommand(...call) {
    const transition = await orders.applyCommand(...call);
    if (transition.applied) onChange();
    return transition;
  },
});
