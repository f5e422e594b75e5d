import type { Brand } from './brand.ts';
import { isInt64 } from './int64.ts';

/** Identifies a pet: any 64-bit signed integer. An order may name one that the catalogue does not hold. */
export type PetId = Brand<bigint, 'PetId'>;

/** @throws RangeError when the value does not fit 64 bits */
export function petId(value: bigint): PetId {
  if (!isInt64(value)) throw new RangeError(`a pet id is a 64-bit integer, not ${value}`);
  return value as PetId; // the one place that hands out the brand
}

export interface Pet {
  readonly id: PetId;
  readonly name: string;
}
