import { parseOrderEventId } from '@petstore/domain';
import { z } from 'zod';

const complaint = 'must be the id of an event, or 0 for the beginning of the retained events';

/** The id of an event in decimal digits, after which a caller goes on. */
export const eventPosition = z.string(complaint).refine((text) => parseOrderEventId(text) !== undefined, complaint);

/** The id of an event in a response. */
export const eventIdText = (description: string) =>
  z
    .string()
    .max(19)
    .regex(/^(0|[1-9]\d{0,18})$/)
    .meta({ description });
