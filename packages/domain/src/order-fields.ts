import type { OrderId, PetId } from './ids.ts';
import { ORDER_STATUSES, type OrderStatus } from './order-states.ts';

/** First and last time: the instants that RFC 3339 writes with a year of 0001 to 9999. */
export const INSTANT_MIN = new Date('0001-01-01T00:00:00.000Z');
export const INSTANT_MAX = new Date('9999-12-31T23:59:59.999Z');

/** What is identified by a 64-bit integer. */
interface Int64s {
  readonly order: OrderId;
  readonly pet: PetId;
}

/** What a field's values are. Each adapter has one table by kind, which says what it does with such a value. */
type FieldValues =
  | { readonly kind: 'int64'; readonly of: keyof Int64s }
  | { readonly kind: 'wholeNumber'; readonly min: number; readonly max: number }
  /** From {@link INSTANT_MIN} to {@link INSTANT_MAX}, in milliseconds. */
  | { readonly kind: 'instant' }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'status' }
  /** Unicode without NUL and unpaired surrogates. Its length is counted in code points. */
  | { readonly kind: 'text'; readonly minLength: number; readonly maxLength: number };

export type FieldKind = FieldValues['kind'];

/**
 * A field of an order. It is set by the `caller` who places the order, by the `service` at that time, or by the `state`
 * that the order is in.
 */
export type FieldDefinition = FieldValues & {
  readonly setBy: 'caller' | 'service' | 'state';
  /** Whether an order may be without it. */
  readonly optional?: true;
};

/**
 * What the fields of an order are. Each adapter has one list of them, for which the compiler asks: the columns, what v1 and
 * v2 of the API show, and what files hold.
 */
export const ORDER_FIELDS = {
  id: { kind: 'int64', of: 'order', setBy: 'service' },
  /** The animal that was ordered. It need not be in the catalogue. */
  petId: { kind: 'int64', of: 'pet', setBy: 'caller' },
  /** Units ordered. */
  quantity: { kind: 'wholeNumber', min: 1, max: 2_147_483_647, setBy: 'caller' },
  /** Expected or actual ship date; left out if it is unknown. */
  shipDate: { kind: 'instant', setBy: 'caller', optional: true },
  /** Whether the order has been fulfilled. */
  complete: { kind: 'boolean', setBy: 'state' },
  status: { kind: 'status', setBy: 'state' },
  placedAt: { kind: 'instant', setBy: 'service' },
  shippedAt: { kind: 'instant', setBy: 'state', optional: true },
  completedAt: { kind: 'instant', setBy: 'state', optional: true },
  cancelledAt: { kind: 'instant', setBy: 'state', optional: true },
} as const satisfies Record<string, FieldDefinition>;

type Fields = typeof ORDER_FIELDS;

export type OrderField = keyof Fields;

type FieldThatIs<Trait> = { [Name in OrderField]: Fields[Name] extends Trait ? Name : never }[OrderField];

export type OptionalOrderField = FieldThatIs<{ optional: true }>;
/** A field that the caller sets who places an order. */
export type RequestedField = FieldThatIs<{ setBy: 'caller' }>;
/** A time of something that happened to an order. */
export type OrderTimeField = FieldThatIs<{ kind: 'instant'; setBy: 'service' | 'state' }>;
/** A field as lists for people, files and the API show it: all but the times of what happened. */
export type ListedField = Exclude<OrderField, OrderTimeField>;

type ValueOfKind<Definition> = Definition extends { kind: 'int64'; of: infer Of extends keyof Int64s }
  ? Int64s[Of]
  : Definition extends { kind: infer Kind extends Exclude<FieldKind, 'int64'> }
    ? { wholeNumber: number; instant: Date; boolean: boolean; status: OrderStatus; text: string }[Kind]
    : never;

export type OrderValue<Name extends OrderField> = ValueOfKind<Fields[Name]>;

/** Makes one object type of several, so that editors and messages show its properties. */
export type Flat<T> = { [Key in keyof T]: T[Key] };

/** Some fields of an order, with their values. */
export type OrderValues<Name extends OrderField> = Flat<
  { readonly [Each in Exclude<Name, OptionalOrderField>]: OrderValue<Each> } & {
    readonly [Each in Extract<Name, OptionalOrderField>]?: OrderValue<Each>;
  }
>;

/** What stays the same in all states of an order. */
export interface OrderFacts extends OrderValues<Exclude<OrderField, FieldThatIs<{ setBy: 'state' }>>> {}

/** What a customer orders. */
export interface OrderRequest extends OrderValues<RequestedField> {}

const NAMES = Object.keys(ORDER_FIELDS) as readonly OrderField[]; // those of the table, which is constant

const namesOf = <Name extends OrderField>(isWanted: (definition: FieldDefinition) => boolean): readonly Name[] =>
  NAMES.filter((name): name is Name => isWanted(ORDER_FIELDS[name])); // as the type has it

export const ORDER_FIELD_NAMES: readonly OrderField[] = NAMES;
export const REQUESTED_FIELDS = namesOf<RequestedField>(({ setBy }) => setBy === 'caller');
export const ORDER_TIME_FIELDS = namesOf<OrderTimeField>(({ kind, setBy }) => kind === 'instant' && setBy !== 'caller');
export const LISTED_FIELDS = namesOf<ListedField>(({ kind, setBy }) => kind !== 'instant' || setBy === 'caller');

/** The definition of a field, of whatever kind it is. */
export const definitionOf = (name: OrderField): FieldDefinition => ORDER_FIELDS[name];

export const isOptionalField = (name: OrderField): name is OptionalOrderField => definitionOf(name).optional === true;

/** A request in which what is not given may also be undefined. */
export type LooseOrderRequest = { readonly [Name in keyof OrderRequest]: OrderRequest[Name] | undefined };

/** The fields that a caller sets, of anything that has them. What is undefined is left out. */
export function requestedValuesOf(order: LooseOrderRequest): OrderRequest {
  const values = REQUESTED_FIELDS.map((name) => [name, order[name]] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as OrderRequest; // each with its value
}

/** Whether a field may have the value. */
export function isValueOf(definition: FieldDefinition, value: unknown): boolean {
  switch (definition.kind) {
    case 'int64':
      return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
    case 'wholeNumber': {
      const { min, max } = definition;
      return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
    }
    case 'instant': {
      if (!(value instanceof Date)) return false;
      const ms = value.getTime(); // comparing the dates themselves takes many times as long
      return ms >= INSTANT_MIN.getTime() && ms <= INSTANT_MAX.getTime();
    }
    case 'boolean':
      return typeof value === 'boolean';
    case 'status':
      return ORDER_STATUSES.some((status) => status === value);
    case 'text':
      return typeof value === 'string' && isText(value, definition);
    default:
      return definition satisfies never;
  }
}

/** Whether a text can be stored, and has the right length in code points. */
const isText = (text: string, { minLength, maxLength }: { readonly minLength: number; readonly maxLength: number }) => {
  const { length } = [...text];
  return length >= minLength && length <= maxLength && !text.includes('\0') && text.isWellFormed();
};

/** What a value of this field must be, to be read after "must be": `a whole number from 1 to 10`. */
export function describeValueOf(definition: FieldDefinition): string {
  switch (definition.kind) {
    case 'int64':
      return 'a 64-bit integer';
    case 'wholeNumber':
      return `a whole number from ${definition.min} to ${definition.max}`;
    case 'instant':
      return `a time from ${INSTANT_MIN.toISOString()} to ${INSTANT_MAX.toISOString()}`;
    case 'boolean':
      return 'true or false';
    case 'status':
      return `one of ${ORDER_STATUSES.join(', ')}`;
    case 'text':
      return `a text of ${definition.minLength} to ${definition.maxLength} characters, without NUL`;
    default:
      return definition satisfies never;
  }
}

/** @returns the first field, if any, whose value no order can have */
export const findInvalidField = (request: OrderRequest): RequestedField | undefined =>
  REQUESTED_FIELDS.find((name) => {
    const value = request[name];
    return value === undefined ? !isOptionalField(name) : !isValueOf(definitionOf(name), value);
  });
