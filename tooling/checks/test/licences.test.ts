import { expect, test } from 'vitest';
import { countPackages, findRefused, listLicences } from '../src/licences.ts';

test('all that the server, the command line and the client bring along may be used', () => {
  const report = listLicences();
  expect(findRefused(report)).toEqual([]);
  const names = Object.values(report)
    .flat()
    .map(({ name }) => name);
  // Of the server itself, of the packages that it uses, and of the command line: nothing was left out.
  expect(names).toEqual(expect.arrayContaining(['find-my-way', 'ioredis', 'kysely', 'commander']));
  expect(countPackages(report)).toBeGreaterThan(names.length);
});

test.each(['GPL-3.0-only', 'AGPL-3.0-or-later', '(MIT OR GPL-3.0)', 'SEE LICENSE IN LICENSE', 'UNLICENSED', 'Unknown'])(
  'a package under %s is refused, by its name, version and licence',
  (licence) => {
    const report = {
      MIT: [{ name: 'fine', versions: ['1.0.0'] }],
      [licence]: [{ name: '@scope/dubious', versions: ['2.0.0', '3.1.0'] }],
    };
    expect(findRefused(report)).toEqual([`@scope/dubious@2.0.0: ${licence}`, `@scope/dubious@3.1.0: ${licence}`]);
  },
);
