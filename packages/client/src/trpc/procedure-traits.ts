// Written by "pnpm --filter @petstore/client generate" from the contracts of its operations. Do not edit.

/** By the procedure's full name. */
export const TRAITS = {
  'orders.list': { streams: true },
  'orders.cancel': { repetition: { type: 'transition', doneCode: 'order_already_cancelled' } },
  'orders.place': { repetition: { type: 'idempotency-key' } },
  'orders.ship': { repetition: { type: 'transition', doneCode: 'order_already_shipped', resultOf: 'orders.get' } },
  'orders.complete': {
    repetition: { type: 'transition', doneCode: 'order_already_completed', resultOf: 'orders.get' },
  },
} as const;
