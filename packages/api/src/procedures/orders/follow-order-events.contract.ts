import { parseOrderEventId } from '@petstore/domain';
import { z } from 'zod';
import type { ProcedureContract } from '../../procedure-contract.ts';
import { inputObject } from '../input-object.ts';

const complaint = 'must be the id of an event, or 0 for the beginning of what is kept';

const position = z
  .string(complaint)
  .refine((text) => parseOrderEventId(text) !== undefined, complaint)
  .optional();

export const followOrderEventsContract = {
  type: 'subscription',
  input: inputObject({
    /** The event after which to begin. @default the next event that is committed */
    after: position,
    /** The same, as sent by a subscription that reconnects; it takes precedence over `after`. */
    lastEventId: position,
  }).optional(),
} satisfies ProcedureContract;
