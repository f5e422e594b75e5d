import { type Pet, petId } from '@petstore/domain';
import { z } from 'zod';
import { defineOperation } from '../../define-operation.ts';
import { refusalOf } from '../../errors/refusals.ts';
import { int64, int64AsDigits, int64Complaint } from '../../int64.ts';
import { inputObject } from '../schemas.ts';

const PetResponse = z
  .object({
    id: int64AsDigits('Unique pet identifier.'),
    name: z.string().min(1).meta({ description: 'What the pet is called.' }),
  })
  .meta({ id: 'Pet', description: 'A pet in the catalogue.', examples: [{ id: 1, name: 'Ada' }] });

export const getPet = defineOperation(
  {
    type: 'query',
    input: inputObject({ petId: int64('Identifier of the pet.').meta({ examples: [1] }) }),
    versions: { v1: 'stable' },
    deprecation: {
      deprecatedAt: new Date('2026-06-30T00:00:00Z'),
      sunsetAt: new Date('2027-06-30T00:00:00Z'),
    },
    openapi: {
      method: 'GET',
      path: '/pets/{petId}',
      operationId: 'getPetById',
      summary: 'Find a pet by its identifier',
      description:
        'Returns one pet in the catalogue, with its name. An order may be for an animal that is not in it.\n\n' +
        'Deprecated, because the service is about orders; there is no replacement. It works until its sunset date, which ' +
        'every response carries in the `Sunset` header, along with `Deprecation` and `Link`. After that date, the status is ' +
        '410.',
      tags: ['deprecated'],
      successDescription: 'The pet.',
    },
    rest: {
      response: PetResponse,
      examples: { known: { summary: 'A pet in the catalogue.', value: { id: 1, name: 'Ada' } } },
      invalidRequest: int64Complaint('petId'),
      errors: ['pet_not_found', 'operation_sunset'],
    },
  },
  async ({ ctx, input }): Promise<Pet> => {
    const { pets, clock, petsSunsetAt } = ctx.services;
    if (clock() >= petsSunsetAt) throw refusalOf('operation_sunset');
    const pet = await pets.findPet(petId(input.petId));
    if (pet === undefined) throw refusalOf('pet_not_found');
    return pet;
  },
);
