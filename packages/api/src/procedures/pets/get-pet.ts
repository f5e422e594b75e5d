import { type Pet, petId } from '@petstore/domain';
import { ApiError } from '../../api-error.ts';
import { sunsetOf } from '../../rest/sunset.ts';
import { procedure } from '../../trpc/trpc.ts';
import { getPetContract } from './get-pet.contract.ts';

export const getPet = procedure
  .meta(getPetContract)
  .input(getPetContract.input)
  .query(async ({ ctx, input }): Promise<Pet> => {
    const { pets, clock, sunsetOverrides } = ctx.services;
    const { openapi, rest } = getPetContract;
    if (clock() >= sunsetOf(openapi.operationId, rest.deprecation, sunsetOverrides))
      throw new ApiError('operation_sunset');
    const pet = await pets.findPet(petId(input.petId));
    if (pet === undefined) throw new ApiError('pet_not_found');
    return pet;
  });
