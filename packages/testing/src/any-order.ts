import {
  definitionOf,
  type FieldDefinition,
  type FieldKind,
  INSTANT_MAX,
  INSTANT_MIN,
  INT64_MAX,
  INT64_MIN,
  isOptionalField,
  isOrderState,
  ORDER_FIELD_NAMES,
  ORDER_STATUSES,
  type Order,
  type OrderFacts,
  type OrderField,
  type OrderState,
  timesOfState,
} from '@petstore/domain';
import fc from 'fast-check';

// Orders for property tests, made from the domain's tables: a field, a kind or a state that is added there is tried
// wherever these are used.

type DefinitionOf<Kind extends FieldKind> = Extract<FieldDefinition, { readonly kind: Kind }>;

/** What other formats separate, quote, escape or take for something else. */
const TRICKY_TEXTS = [
  ...[',', ';', '"', "'", '\\', '\n', '\r\n', '\t', ' ', '\\N', '\\.', '{}', '%2e', '=1+1', '<b>', '\u2028'],
  ...['null', 'undefined', 'true', '0', '-1', '1e3', '00', '2026-01-02T03:04:05.678Z', 'a,b', '"a"', ' a ', '\ufeff'],
  ...['\ufffd', '\u{1f436}', 'e\u0301', '\u202e', '__proto__', 'constructor'],
];

const ANY_OF_KIND: { readonly [Kind in FieldKind]: (definition: DefinitionOf<Kind>) => fc.Arbitrary<unknown> } = {
  int64: () =>
    fc.oneof(
      fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
      // Those that JavaScript's numbers round, too.
      fc.constantFrom(INT64_MIN, INT64_MIN + 1n, -1n, 0n, 1n, 2n ** 53n + 1n, INT64_MAX - 1n, INT64_MAX),
    ),
  wholeNumber: ({ min, max }) => fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max)),
  instant: () =>
    fc.oneof(
      fc.date({ min: INSTANT_MIN, max: INSTANT_MAX, noInvalidDate: true }),
      fc.constantFrom(INSTANT_MIN, INSTANT_MAX, new Date(0), new Date(-1), new Date('0999-12-31T23:59:59.010Z')),
      // Whose text in PostgreSQL has no decimals, or fewer than three.
      fc.constantFrom(0, 10, 100, 120).map((ms) => new Date(Date.UTC(2026, 0, 1, 0, 0, 0, ms))),
    ),
  boolean: () => fc.boolean(),
  status: () => fc.constantFrom(...ORDER_STATUSES),
  text: ({ minLength, maxLength }) =>
    fc
      .array(fc.oneof(fc.constantFrom(...TRICKY_TEXTS), fc.string({ unit: 'grapheme', maxLength: 3 })))
      .map((parts) => [...parts.join('').replaceAll('\0', '')].slice(0, maxLength).join(''))
      .filter((text) => [...text].length >= minLength && text.isWellFormed()),
};

/** Any value that a field with this definition may have. */
export function anyValueOf(definition: FieldDefinition): fc.Arbitrary<unknown> {
  const make = ANY_OF_KIND[definition.kind] as (definition: FieldDefinition) => fc.Arbitrary<unknown>; // that of its kind
  return make(definition);
}

/** Every state that an order can be in. */
export const EVERY_STATE: readonly OrderState[] = ORDER_STATUSES.flatMap((status) =>
  [false, true].map((complete) => ({ status, complete })).filter(isOrderState),
);

const stateFields = (state: OrderState, time: (name: OrderField) => unknown) => ({
  ...state,
  ...Object.fromEntries(timesOfState(state).map((name) => [name, time(name)])),
});

/** Orders in every state, with the same facts. @param at the time of what happened after the order was placed */
export const ordersInEveryState = (facts: OrderFacts, at: Date): readonly Order[] =>
  EVERY_STATE.map((state) => ({ ...facts, ...stateFields(state, () => at) }) as Order); // with the times of its state

const names = ORDER_FIELD_NAMES.filter((name) => !['boolean', 'status'].includes(definitionOf(name).kind));
const valueOfEach = Object.fromEntries(
  names.map((name) => {
    const value = anyValueOf(definitionOf(name));
    const isState = definitionOf(name).setBy === 'state';
    return [name, isOptionalField(name) && !isState ? fc.option(value, { nil: undefined }) : value] as const;
  }),
);

/** Any order in any state, with any values. */
export const anyOrder: fc.Arbitrary<Order> = fc
  .tuple(fc.constantFrom(...EVERY_STATE), fc.record(valueOfEach))
  .map(([state, values]) => {
    const facts = Object.entries(values).filter(
      ([name, value]) => value !== undefined && definitionOf(name as OrderField).setBy !== 'state', // its own
    );
    return { ...Object.fromEntries(facts), ...stateFields(state, (name) => values[name]) } as Order; // as the table says
  });

/** Orders with different ids. */
export const anyOrders = (size: { readonly minLength: number; readonly maxLength: number }) =>
  fc.uniqueArray(anyOrder, { selector: ({ id }) => id, size: 'max', ...size });
