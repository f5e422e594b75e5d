import { inputObject, int64 } from '../input-object.ts';

export const CompleteOrderInput = inputObject({
  orderId: int64('Identifier of the order to complete.'),
});
