import { distance } from 'fastest-levenshtein';

/** Letters by which a name may differ and still be meant: of long names two, of short ones none, or HOME would be HOST. */
const lettersOff = (name: string): number => (name.length < 6 ? 0 : name.length < 8 ? 1 : 2);

/**
 * Finds which name is meant by one that differs from it by a letter or two.
 *
 * @returns `undefined` if the name is right, or no name is like it
 */
export const findMeantName = (name: string, names: readonly string[]): string | undefined =>
  names.includes(name) ? undefined : names.find((right) => distance(name, right) <= lettersOff(right));
