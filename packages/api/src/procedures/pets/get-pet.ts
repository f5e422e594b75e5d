import { type Pet, petId } from '@petstore/domain';
import { ApiError } from '../../api-error.ts';
import { procedure } from '../../trpc/trpc.ts';
import { GetPetInput, getPetMeta } from './get-pet.contract.ts';

export const getPet = procedure
  .meta(getPetMeta)
  .input(GetPetInput)
  .query(async ({ ctx, input }): Promise<Pet> => {
    const { pets, clock, sunsetOverrides = {} } = ctx.services;
    const { operationId } = getPetMeta.openapi;
    if (clock() >= (sunsetOverrides[operationId] ?? getPetMeta.rest.sunsetAt)) throw new ApiError('operation_sunset');
    const pet = await pets.findPet(petId(input.petId));
    if (pet === undefined) throw new ApiError('pet_not_found');
    return pet;
  });
