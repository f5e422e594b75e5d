import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawHistory } from './support/histories/draw-history.ts';
import { findContradiction } from './support/histories/find-contradiction.ts';
import type { Operation, SequentialModel } from './support/histories/history.ts';

/** A register of one number, which can be swapped conditionally. */
type RegisterCall =
  | { readonly type: 'read' }
  | { readonly type: 'write'; readonly value: number }
  | { readonly type: 'replace'; readonly from: number; readonly to: number };
/** The number that was read; whether it was replaced; 0 of a write. */
type RegisterOutcome = number | boolean;
type RegisterOperation = Operation<RegisterCall, RegisterOutcome>;

const REGISTER: SequentialModel<number, RegisterCall, RegisterOutcome> = {
  step(state, call, outcome) {
    const [next, expected] = applyToRegister(state, call);
    return outcome === undefined || outcome === expected ? next : undefined;
  },
  isRead: (call, outcome) => call.type === 'read' || (call.type === 'replace' && outcome === false),
};

function applyToRegister(state: number, call: RegisterCall): [next: number, outcome: RegisterOutcome] {
  switch (call.type) {
    case 'read':
      return [state, state];
    case 'write':
      return [call.value, 0];
    case 'replace':
      return state === call.from ? [call.to, true] : [state, false];
    default:
      return call satisfies never;
  }
}

const contradictionOf = (operations: readonly RegisterOperation[]) =>
  findContradiction({ model: REGISTER, initial: 0, operations });

/** Tries every order of every selection of the calls whose response was lost. */
function isExplainedByAnyOrder(operations: readonly RegisterOperation[], state = 0): boolean {
  if (operations.every(({ response }) => response === undefined)) return true;
  // The next one must have been called before the first response of those that are left.
  const firstResponseMs = Math.min(...operations.map(({ response }) => response?.atMs ?? Number.POSITIVE_INFINITY));
  return operations.some((operation) => {
    if (operation.calledAtMs > firstResponseMs) return false;
    const next = REGISTER.step(state, operation.call, operation.response?.outcome);
    if (next === undefined) return false;
    return isExplainedByAnyOrder(
      operations.filter((other) => other !== operation),
      next,
    );
  });
}

const value = fc.integer({ min: 0, max: 2 });
const call: fc.Arbitrary<RegisterCall> = fc.oneof(
  fc.record({ type: fc.constant('read' as const) }),
  fc.record({ type: fc.constant('write' as const), value }),
  fc.record({ type: fc.constant('replace' as const), from: value, to: value }),
);
/** Few moments, so that many calls are under way at the same time and some begin when others end. */
const moment = fc.integer({ min: 0, max: 8 });
const outcomeOf = (made: RegisterCall): fc.Arbitrary<RegisterOutcome> => {
  if (made.type === 'write') return fc.constant(0);
  return made.type === 'read' ? value : fc.boolean();
};
const operation: fc.Arbitrary<RegisterOperation> = fc
  .tuple(call, moment, moment, fc.integer({ min: 0, max: 3 }))
  .chain(([made, calledAtMs, lengthMs, luck]) =>
    outcomeOf(made).map((outcome) => ({
      call: made,
      calledAtMs,
      response: luck === 0 ? undefined : { atMs: calledAtMs + lengthMs, outcome },
    })),
  );
const anyHistory = fc.array(operation, { maxLength: 7 });

describe('the search', () => {
  test('says of any small history what trying every order says', () => {
    let explained = 0;
    let contradicted = 0;
    fc.assert(
      fc.property(anyHistory, (operations) => {
        const isExplained = isExplainedByAnyOrder(operations);
        if (isExplained) explained++;
        else contradicted++;
        expect(contradictionOf(operations) === undefined).toBe(isExplained);
      }),
      { numRuns: 3_000 },
    );
    // Both kinds were met, so that the property can fail either way.
    expect(explained).toBeGreaterThan(300);
    expect(contradicted).toBeGreaterThan(300);
  });

  test('shows a part that no order explains either, and in which each read is needed', () => {
    fc.assert(
      fc.property(anyHistory, (operations) => {
        const found = contradictionOf(operations);
        if (found === undefined) return;
        expect(isExplainedByAnyOrder(found.operations)).toBe(false);
        const reads = found.operations.filter(({ call, response }) => REGISTER.isRead(call, response?.outcome));
        for (const read of reads) {
          expect(isExplainedByAnyOrder(found.operations.filter((other) => other !== read))).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('explains a thousand calls of one register, some of them lost', () => {
    let state = 0;
    const operations = Array.from({ length: 1_000 }, (_, i): RegisterOperation => {
      const made: RegisterCall = i % 3 === 0 ? { type: 'write', value: i } : { type: 'read' };
      // Lost ones are kept few, since each may take effect for ever after.
      if (i % 300 === 0) return { call: { type: 'write', value: -i }, calledAtMs: i, response: undefined };
      const [next, outcome] = applyToRegister(state, made);
      state = next;
      return { call: made, calledAtMs: i - 3, response: { atMs: i + 3, outcome } };
    });
    expect(contradictionOf(operations)).toBeUndefined();
    const last = { call: { type: 'read' }, calledAtMs: 4_000, response: { atMs: 4_001, outcome: 42 } } as const;
    expect(contradictionOf([...operations, last])?.unexplained).toBe(last);
  });
});

test('a contradiction is drawn as lines in time', () => {
  const write = { call: { type: 'write', value: 1 }, calledAtMs: 10, response: { atMs: 14, outcome: 0 } } as const;
  const seen = { call: { type: 'read' }, calledAtMs: 11, response: { atMs: 12, outcome: 1 } } as const;
  const lost = { call: { type: 'write', value: 2 }, calledAtMs: 13, response: undefined } as const;
  const stale = { call: { type: 'read' }, calledAtMs: 20.5, response: { atMs: 21, outcome: 0 } } as const;
  const other = { call: { type: 'read' }, calledAtMs: 15, response: { atMs: 16, outcome: 1 } } as const;
  const found = contradictionOf([write, seen, lost, other, stale]);
  expect(found?.unexplained).toBe(stale);
  expect(found?.states).toEqual([1]);
  const drawing = drawHistory(found?.operations ?? [], ({ call: { type }, response }) => ({
    call: type,
    outcome: String(response?.outcome ?? 'lost'),
  }));
  expect(drawing.split('\n')).toEqual([
    '  0.0..4.0  write  |---|        0',
    '     3.0..  write    |-------?  lost',
    '10.5..11.0  read         |-|    0',
  ]);
});
