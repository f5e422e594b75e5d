import { distance } from 'fastest-levenshtein';

/** The number of letters in which a misspelt name may differ: fewer for short names, or HOME would be taken for HOST. */
const maxDistance = (name: string): number => (name.length < 6 ? 0 : name.length < 8 ? 1 : 2);

/**
 * Finds the intended name for one that differs from it by a letter or two, or is written in lower case.
 *
 * @returns `undefined` if the name is right, or no name is similar
 */
export const findIntendedName = (name: string, names: readonly string[]): string | undefined =>
  names.includes(name)
    ? undefined
    : names.find((right) => distance(name, right) <= maxDistance(right) || isOtherCase(name, right));

const isOtherCase = (name: string, right: string): boolean =>
  maxDistance(right) > 0 && name.toUpperCase() === right.toUpperCase();
