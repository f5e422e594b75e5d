import {
  describeValueOf,
  type FieldDefinition,
  type FieldKind,
  INSTANT_MAX,
  INSTANT_MIN,
  isValueOf,
  ORDER_STATUSES,
} from '@petstore/domain';
import { z } from 'zod';
import { int64, int64AsText } from '../../int64.ts';
import { oneOf, timeAsText } from '../schemas.ts';

type Of<Kind extends FieldKind> = Extract<FieldDefinition, { readonly kind: Kind }>;

const errorOf = (definition: FieldDefinition) => `must be ${describeValueOf(definition)}`;

/** What a caller sends of each kind over tRPC. */
export const INPUT_KINDS = {
  int64: (_: Of<'int64'>, description: string) => int64(description),
  wholeNumber: (definition: Of<'wholeNumber'>) =>
    z.int(errorOf(definition)).min(definition.min, errorOf(definition)).max(definition.max, errorOf(definition)),
  instant: (definition: Of<'instant'>) =>
    z.date(errorOf(definition)).min(INSTANT_MIN, errorOf(definition)).max(INSTANT_MAX, errorOf(definition)),
  boolean: (definition: Of<'boolean'>) => z.boolean(errorOf(definition)),
  status: (definition: Of<'status'>) => z.enum(ORDER_STATUSES, errorOf(definition)),
  text: (definition: Of<'text'>) =>
    z.string(errorOf(definition)).refine((text) => isValueOf(definition, text), errorOf(definition)),
} as const satisfies Record<FieldKind, unknown>;

/**
 * What responses of v2 show of each kind: the schema describes the value, and writes it. `about` is what the value is; the
 * kind finishes the sentence.
 */
export const OUTPUT_KINDS = {
  int64: (_: Of<'int64'>, about: string) => int64AsText(`${about}.`),
  wholeNumber: ({ min, max }: Of<'wholeNumber'>, about: string) =>
    z
      .int()
      .min(min)
      .max(max)
      .meta({ description: `${about}, ${min} to ${max}.` }),
  instant: ({ optional }: Of<'instant'>, about: string) =>
    timeAsText(`${about}, in UTC with milliseconds.${optional ? ' Omitted if it is not known.' : ''}`),
  boolean: (_: Of<'boolean'>, about: string) => z.boolean().meta({ description: `${about}.` }),
  /** Or a status that only a newer release knows. */
  status: (_: Of<'status'>, about: string) => oneOf(ORDER_STATUSES, `${about}.`),
  /** JSON Schema counts code points, and zod other units: the lengths are described alone. */
  text: ({ minLength, maxLength }: Of<'text'>, about: string) =>
    z.string().meta({ minLength, maxLength, pattern: '^[^\\u0000]*$', description: `${about}.` }),
} as const satisfies Record<FieldKind, unknown>;
