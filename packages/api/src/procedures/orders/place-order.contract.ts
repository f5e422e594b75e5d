import { QUANTITY_MAX, QUANTITY_MIN, SHIP_DATE_MAX, SHIP_DATE_MIN } from '@petstore/domain';
import { z } from 'zod';
import { int64 } from '../../int64.ts';
import type { ProcedureContract } from '../../procedure-contract.ts';
import { inputObject } from '../input-object.ts';
import { idempotencyKey } from './idempotency-key.ts';

const quantityError = `must be a whole number from ${QUANTITY_MIN} to ${QUANTITY_MAX}`;
const shipDateError = `must be a time from ${SHIP_DATE_MIN.toISOString()} to ${SHIP_DATE_MAX.toISOString()}`;

export const placeOrderContract = {
  type: 'mutation',
  input: inputObject({
    petId: int64('Identifier of the animal; it need not be in the catalogue.'),
    quantity: z.int(quantityError).min(QUANTITY_MIN, quantityError).max(QUANTITY_MAX, quantityError),
    shipDate: z.date(shipDateError).min(SHIP_DATE_MIN, shipDateError).max(SHIP_DATE_MAX, shipDateError).optional(),
    idempotencyKey,
  }),
} satisfies ProcedureContract;
