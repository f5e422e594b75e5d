import type { OrderRepository } from '@petstore/domain';

/**
 * Orders whose changes, each of which has recorded an event, are reported when they are made.
 *
 * @param orders an object whose methods need no `this`
 * @param onChange called for each order that was placed or changed through what is returned, before its caller learns of it
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
