import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ORDER_COMMANDS as COMMANDS,
  type CommandReason,
  decideOrder,
  decidePlacement,
  INSTANT_MAX,
  ORDER_FIELDS,
  ORDER_TRANSITIONS,
  type Order,
  type OrderCommand,
  orderId,
  petId,
  REQUESTED_FIELDS,
} from '../src/index.ts';

const PLACED_AT = new Date('2026-01-01T00:00:00Z');
const NOW = new Date('2026-01-02T00:00:00Z');
const facts = {
  id: orderId(7n),
  petId: petId(3n),
  quantity: 2,
  shipDate: new Date('2026-02-01T00:00:00Z'),
  placedAt: PLACED_AT,
};

/** An order in each state that it can be in. */
const GIVEN = {
  pending: { ...facts, status: 'pending', complete: false },
  shipped: { ...facts, status: 'shipped', complete: false, shippedAt: PLACED_AT },
  completed: { ...facts, status: 'shipped', complete: true, shippedAt: PLACED_AT, completedAt: PLACED_AT },
  cancelled: { ...facts, status: 'cancelled', complete: false, cancelledAt: PLACED_AT },
} as const satisfies Record<string, Order>;

const QUANTITY_MAX = ORDER_FIELDS.quantity.max;

describe('decideOrder: every state and command', () => {
  const accepted = [
    ['pending', 'cancel', { status: 'cancelled', complete: false, cancelledAt: NOW }],
    ['pending', 'ship', { status: 'shipped', complete: false, shippedAt: NOW }],
    ['shipped', 'complete', { status: 'shipped', complete: true, completedAt: NOW }],
  ] as const;
  it.each(accepted)('given %s, when asked to %s, it becomes %o', (state, command, change) => {
    expect(decideOrder(GIVEN[state], command, NOW)).toEqual({ ok: true, value: { ...GIVEN[state], ...change } });
  });

  const refused = [
    ['pending', 'complete', 'order_not_shipped'],
    ['shipped', 'cancel', 'order_already_shipped'],
    ['shipped', 'ship', 'order_already_shipped'],
    ['completed', 'cancel', 'order_already_shipped'],
    ['completed', 'ship', 'order_already_shipped'],
    ['completed', 'complete', 'order_already_completed'],
    ['cancelled', 'cancel', 'order_already_cancelled'],
    ['cancelled', 'ship', 'order_already_cancelled'],
    ['cancelled', 'complete', 'order_already_cancelled'],
  ] as const satisfies readonly (readonly [keyof typeof GIVEN, OrderCommand, CommandReason])[];
  it.each(refused)('given %s, when asked to %s, it refuses with %s', (state, command, refusal) => {
    expect(decideOrder(GIVEN[state], command, NOW)).toEqual({ ok: false, reason: refusal });
  });

  it.each(COMMANDS)('given no order, when asked to %s, it refuses with order_not_found', (command) => {
    expect(decideOrder(undefined, command, NOW)).toEqual({ ok: false, reason: 'order_not_found' });
  });

  it.each(['cancel', 'ship', 'complete'] as const)(
    'given a clock that is behind, %s gets the time of the change before it',
    (command) => {
      const state = command === 'complete' ? 'shipped' : 'pending';
      const { stamp } = ORDER_TRANSITIONS[command];
      const early = new Date(PLACED_AT.getTime() - 5);
      expect(decideOrder(GIVEN[state], command, early)).toMatchObject({ ok: true, value: { [stamp]: PLACED_AT } });
    },
  );

  it('given a clock that is behind, no order is complete before it has shipped', () => {
    const shippedAt = new Date(NOW.getTime() + 5);
    const completed = { ok: true, value: { shippedAt, completedAt: shippedAt } };
    expect(decideOrder({ ...GIVEN.shipped, shippedAt }, 'complete', NOW)).toMatchObject(completed);
  });

  it('names every pair of state and command once', () => {
    const pairs = [...accepted, ...refused].map(([state, command]) => `${state} ${command}`);
    expect(new Set(pairs).size).toBe(Object.keys(GIVEN).length * COMMANDS.length);
  });
});

describe('any sequence of commands', () => {
  const anyCommands = fc.array(fc.constantFrom(...COMMANDS), { maxLength: 12 });
  const anyStart = fc.constantFrom<Order>(...Object.values(GIVEN));

  /** The order after each command, and what was decided. */
  function play(start: Order, commands: readonly OrderCommand[]) {
    let order = start;
    return commands.map((command, step) => {
      const before = order;
      const decision = decideOrder(order, command, new Date(NOW.getTime() + step));
      if (decision.ok) order = decision.value;
      return { before, decision, after: order };
    });
  }
  const holds = (promise: (step: ReturnType<typeof play>[number]) => boolean) =>
    fc.assert(fc.property(anyStart, anyCommands, (start, commands) => play(start, commands).every(promise)));

  it('never leaves shipped', () =>
    holds(({ before, after }) => before.status !== 'shipped' || after.status === 'shipped'));
  it('never leaves cancelled', () => holds(({ before, after }) => before.status !== 'cancelled' || after === before));
  it('completes only what has shipped', () => holds(({ after }) => !after.complete || after.status === 'shipped'));
  it('decides each command with another order or a coded refusal', () =>
    holds(({ before, decision, after }) =>
      decision.ok ? after !== before : after === before && /^order_[a-z_]+$/.test(decision.reason),
    ));
  it.each(['id', ...REQUESTED_FIELDS, 'placedAt'] as const)('keeps %s', (field) =>
    holds(({ before, after }) => after[field] === before[field]),
  );
  it('changes at most twice, whatever is asked', () => {
    fc.assert(
      fc.property(
        anyCommands,
        (commands) => play(GIVEN.pending, commands).filter(({ decision }) => decision.ok).length <= 2,
      ),
    );
  });
  it('changes nothing in place', () => {
    fc.assert(
      fc.property(anyStart, fc.constantFrom(...COMMANDS), (start, command) => {
        const copy = structuredClone(start);
        decideOrder(start, command, NOW);
        expect(start).toEqual(copy);
      }),
    );
  });
});

describe('decidePlacement', () => {
  it('begins pending, stamped with the given time', () => {
    expect(decidePlacement({ petId: petId(3n), quantity: 1 }, NOW)).toEqual({
      ok: true,
      value: { petId: 3n, quantity: 1, status: 'pending', complete: false, placedAt: NOW },
    });
  });

  it.each([0, -1, 1.5, QUANTITY_MAX + 1, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses a quantity of %d',
    (quantity) => {
      expect(decidePlacement({ petId: petId(3n), quantity }, NOW)).toEqual({ ok: false, reason: 'quantity' });
    },
  );

  it('refuses a ship date of no year from 1 to 9999', () => {
    const shipDate = new Date(INSTANT_MAX.getTime() + 1);
    const refusal = { ok: false, reason: 'shipDate' };
    expect(decidePlacement({ petId: petId(3n), quantity: 1, shipDate }, NOW)).toEqual(refusal);
  });

  it.each([1, QUANTITY_MAX])('takes a quantity of %d', (quantity) => {
    expect(decidePlacement({ petId: petId(3n), quantity }, NOW).ok).toBe(true);
  });
});
