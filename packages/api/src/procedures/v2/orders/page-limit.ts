import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, PAGE_LIMIT_MIN } from '@petstore/domain';
import { z } from 'zod';

export const limitError = `must be a whole number from ${PAGE_LIMIT_MIN} to ${PAGE_LIMIT_MAX}`;

/** The parameter that bounds a page. */
export const pageLimit = (description: string) =>
  z
    .int(limitError)
    .min(PAGE_LIMIT_MIN, limitError)
    .max(PAGE_LIMIT_MAX, limitError)
    .default(PAGE_LIMIT_DEFAULT)
    .meta({ format: 'int32', description, examples: [PAGE_LIMIT_DEFAULT] });
