import { z } from 'zod';

/** An input with exactly these fields. The message for an unknown field names the allowed ones, not the one sent. */
export const inputObject = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `may only contain ${Object.keys(shape).join(', ')}`
        : `must be an object with ${Object.keys(shape).join(', ')}`,
  });
