import { int64 } from '../../int64.ts';
import type { ProcedureContract } from '../../procedure-contract.ts';
import { inputObject } from '../input-object.ts';

export const shipOrderContract = {
  type: 'mutation',
  input: inputObject({ orderId: int64('Identifier of the order to ship.') }),
} satisfies ProcedureContract;
