import { INT64_MIN, petId } from '@petstore/domain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXTERNAL, PETS_SUNSET_AT, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
  await api.persistence.pets.importPets(
    (async function* () {
      yield { line: 1, value: { id: petId(INT64_MIN), name: 'Rex "the \u{1f415}"' } };
    })(),
  );
});
afterAll(() => api[Symbol.asyncDispose]());

describe('pets.get', () => {
  test('gives the pet', async () => {
    const pet = await api.callAs(EXTERNAL).pets.get({ petId: INT64_MIN });
    expect(pet).toEqual({ id: INT64_MIN, name: 'Rex "the \u{1f415}"' });
  });

  test('works up to the last millisecond before its sunset, and never after', async () => {
    await using late = await startTestApi();
    late.clock.set(new Date(PETS_SUNSET_AT.getTime() - 1));
    await expect(late.callRest('getPetById', { petId: '1' })).rejects.toMatchObject({ errorCode: 'pet_not_found' });
    late.clock.advance(1);
    await expect(late.callRest('getPetById', { petId: '1' })).rejects.toMatchObject({ errorCode: 'operation_sunset' });
  });
});
