import { expect, it } from 'vitest';
import { readArguments, UsageError } from '../src/read-arguments.ts';

const KNOWN = ['list-20', 'cancel', 'start'] as const;
const read = (...args: string[]) => readArguments(args, KNOWN);

it('without arguments everything runs, three rounds of three seconds', () => {
  expect(read()).toEqual({
    scenarios: KNOWN,
    rounds: 3,
    seconds: 3,
    longListCount: 1_000_000,
  });
});

it('a quick run has one short round and shorter lists', () => {
  expect(read('--quick')).toMatchObject({ rounds: 1, seconds: 1, longListCount: 100_000 });
});

it('what is asked for goes before what quick means', () => {
  expect(read('--quick', '--rounds', '5', '--seconds=2')).toMatchObject({ rounds: 5, seconds: 2 });
});

it('chosen scenarios run in their usual order', () => {
  expect(read('--only', 'start, list-20')).toMatchObject({ scenarios: ['list-20', 'start'] });
});

it('the dashes that some package managers hand on are not taken for an argument', () => {
  expect(read('--', '--quick')).toMatchObject({ rounds: 1 });
});

it('who asks for help gets nothing else', () => {
  expect(read('--help', '--quick')).toBeUndefined();
});

it('an unknown scenario is refused by naming those that there are', () => {
  expect(() => read('--only', 'list-20,lits')).toThrow(
    new UsageError('There is no scenario "lits". There are: list-20, cancel, start.'),
  );
});

it.each(['0', '51', '1.5', 'many', '-1', ''])('"%s" rounds are refused', (rounds) => {
  expect(() => read(`--rounds=${rounds}`)).toThrow(`--rounds must be a whole number from 1 to 50, not "${rounds}".`);
});

it('an unknown option and a stray word are refused', () => {
  expect(() => read('--fast')).toThrow(UsageError);
  expect(() => read('list-20')).toThrow(UsageError);
});
