import { petId } from '@petstore/domain';
import { expect, test } from 'vitest';
import { collect, numbered, useTestStore } from './support.ts';

const store = useTestStore();

test('pets are listed in the order of their ids, as many as there are', async () => {
  const pets = Array.from({ length: 25_000 }, (_, i) => ({ id: petId(BigInt(i * 7) - 1_000n), name: `pet ${i}` }));
  await store.persistence.pets.importPets(numbered(pets.toReversed()));
  const batches = await collect(store.persistence.pets.listPets());
  expect(batches.map((batch) => batch.length)).toEqual([10_000, 10_000, 5_000]);
  expect(batches.flat()).toEqual(pets);
});
