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
    /** The event behind which to begin. @default what is committed from now on */
    after: position,
    /** The same, as a subscription that goes on says it; it wins. */
    lastEventId: position,
  }).optional(),
} satisfies ProcedureContract;
