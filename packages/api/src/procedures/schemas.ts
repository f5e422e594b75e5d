import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, PAGE_LIMIT_MIN, parseOrderEventId } from '@petstore/domain';
import { z } from 'zod';

/** An input with exactly these fields. The message for an unknown field names the allowed ones, not the one sent. */
export const inputObject = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `may only contain ${Object.keys(shape).join(', ')}`
        : `must be an object with ${Object.keys(shape).join(', ')}`,
  });

const positionError = 'must be the id of an event, or 0 for the beginning of the retained events';

/** The id of an event in decimal digits, after which a caller goes on. */
export const eventPosition = z
  .string(positionError)
  .refine((text) => parseOrderEventId(text) !== undefined, positionError);

/** The id of an event in a response. */
export const eventIdText = (description: string) =>
  z
    .string()
    .max(19)
    .regex(/^(0|[1-9]\d{0,18})$/)
    .meta({ description });

/** A text in a response: one of these, or one that only a newer release knows, whose rows are passed on as they are. */
export const oneOf = (texts: readonly string[], description: string) =>
  z.string().meta({ enum: [...texts], description });

/** A text in a response, or null, in a form that tools for OpenAPI 3.0 can convert. */
export const textOrNull = (text: z.ZodString, description: string) =>
  text.nullable().meta({
    description,
    override({ jsonSchema }) {
      const [ofText] = jsonSchema.anyOf ?? [];
      delete jsonSchema.anyOf;
      Object.assign(jsonSchema, ofText, { type: ['string', 'null'] });
    },
  });

const timeText = z.string().meta({ format: 'date-time', maxLength: 24 });

/** Writes a time, in UTC with milliseconds. */
export const timeAsText = (description: string) =>
  z.preprocess((time: Date) => time.toISOString(), timeText.meta({ description }));

/** Writes a time, or null. */
export const timeAsTextOrNull = (description: string) =>
  z.preprocess((time: Date | null) => time?.toISOString() ?? null, textOrNull(timeText, description));

export const limitError = `must be a whole number from ${PAGE_LIMIT_MIN} to ${PAGE_LIMIT_MAX}`;

/** The parameter that bounds a page. */
export const pageLimit = (description: string) =>
  z
    .int(limitError)
    .min(PAGE_LIMIT_MIN, limitError)
    .max(PAGE_LIMIT_MAX, limitError)
    .default(PAGE_LIMIT_DEFAULT)
    .meta({ format: 'int32', description, examples: [PAGE_LIMIT_DEFAULT] });
