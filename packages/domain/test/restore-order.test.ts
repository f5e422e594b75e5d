import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  INSTANT_MAX,
  INSTANT_MIN,
  isOrderState,
  ORDER_STATUSES,
  type OrderRecord,
  orderId,
  petId,
  restoreOrder,
} from '../src/index.ts';

const NOW = new Date('2026-01-02T00:00:00Z');
const record = (more: Partial<OrderRecord>): OrderRecord => ({
  id: orderId(1n),
  petId: petId(2n),
  quantity: 3,
  complete: false,
  ...more,
});

describe('restoreOrder', () => {
  it.each([
    ['neither', {}, { status: 'pending', complete: false }],
    ['complete alone', { complete: true }, { status: 'shipped', complete: true, shippedAt: NOW, completedAt: NOW }],
    ['shipped', { status: 'shipped' }, { status: 'shipped', complete: false, shippedAt: NOW }],
    ['cancelled', { status: 'cancelled' }, { status: 'cancelled', complete: false, cancelledAt: NOW }],
  ] as const)('reads %s as its state', (_, given, state) => {
    expect(restoreOrder(record(given), NOW)).toEqual({
      ok: true,
      value: { id: 1n, petId: 2n, quantity: 3, placedAt: NOW, ...state },
    });
  });

  it.each(['pending', 'cancelled'] as const)('refuses a complete order that is %s', (status) => {
    expect(restoreOrder(record({ complete: true, status }), NOW)).toEqual({
      ok: false,
      reason: 'complete_contradicts_status',
    });
  });

  it('refuses a quantity that cannot be ordered', () => {
    expect(restoreOrder(record({ quantity: 0 }), NOW)).toEqual({ ok: false, reason: 'quantity' });
  });

  it.each([INSTANT_MIN, INSTANT_MAX])('keeps %o as a ship date', (shipDate) => {
    expect(restoreOrder(record({ shipDate }), NOW)).toMatchObject({ value: { shipDate } });
  });

  it.each([INSTANT_MIN.getTime() - 1, INSTANT_MAX.getTime() + 1])(
    'refuses a ship date of no year from 1 to 9999, such as %d',
    (ms) => {
      const shipDate = new Date(ms);
      expect(restoreOrder(record({ shipDate }), NOW)).toEqual({ ok: false, reason: 'shipDate' });
    },
  );

  it('keeps the status and the completeness that were given, or refuses: only shipped orders are complete', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.constantFrom(...ORDER_STATUSES), (complete, status) => {
        const decision = restoreOrder(record({ complete, status }), NOW);
        const isPossible = !complete || status === 'shipped';
        expect([decision.ok, isOrderState({ status, complete })]).toEqual([isPossible, isPossible]);
        if (decision.ok) expect(decision.value).toMatchObject({ status, complete });
      }),
    );
  });
});
