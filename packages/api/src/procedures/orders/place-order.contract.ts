import { QUANTITY_MAX, QUANTITY_MIN, SHIP_DATE_MAX, SHIP_DATE_MIN } from '@petstore/domain';
import { z } from 'zod';
import { inputObject, int64 } from '../input-object.ts';

export const PlaceOrderInput = inputObject({
  petId: int64('Identifier of the animal; it need not be in the catalogue.'),
  quantity: z.int().min(QUANTITY_MIN).max(QUANTITY_MAX),
  shipDate: z.date().min(SHIP_DATE_MIN).max(SHIP_DATE_MAX).optional(),
});
