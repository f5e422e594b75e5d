import type { Pet } from '@petstore/domain';
import { z } from 'zod';
import { representJson } from '../../rest/represent.ts';
import type { ProcedureMeta } from '../../rest/rest-contract.ts';
import { inputObject, int64 } from '../input-object.ts';

export const GetPetInput = inputObject({ petId: int64('Identifier of the pet.').meta({ examples: [1] }) });

const PetResponse = z
  .object({
    id: int64('Unique pet identifier.'),
    name: z.string().min(1).meta({ description: 'What the pet is called.' }),
  })
  .meta({ id: 'Pet', description: 'A pet in the catalogue.', examples: [{ id: 1, name: 'Ada' }] });

export const getPetMeta = {
  openapi: {
    method: 'GET',
    path: '/pets/{petId}',
    operationId: 'getPetById',
    summary: 'Find a pet by its identifier',
    description:
      'Deprecated. Every answer carries `Deprecation`, `Sunset` and `Link` headers; past the sunset date it is 410.',
    tags: ['deprecated'],
    deprecated: true,
    successDescription: 'The pet.',
  },
  rest: {
    response: PetResponse,
    examples: { known: { summary: 'A pet in the catalogue.', value: { id: 1, name: 'Ada' } } },
    errors: ['pet_not_found', 'operation_sunset'],
    deprecatedAt: new Date('2026-06-30T00:00:00Z'),
    sunsetAt: new Date('2027-06-30T00:00:00Z'),
    represent: ({ id, name }: Pet) => representJson({ id, name }),
  },
} satisfies ProcedureMeta;
