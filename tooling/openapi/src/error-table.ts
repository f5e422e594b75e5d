import { ERROR_CATALOGUE } from '@petstore/api';

const HEAD = '| Status | Code | What happened |\n| --- | --- | --- |\n';

/** The guide that lists all errors. */
export const ERRORS_GUIDE = new URL('../../../docs/errors.md', import.meta.url);

/** The text of the guide with its table of all errors made anew. */
export function withErrorTable(guide: string): string {
  const rows = Object.entries(ERROR_CATALOGUE).map(
    ([code, { status, meaning }]) => `| ${status} | [\`${code}\`](#${code}) | ${meaning} |\n`,
  );
  const start = guide.indexOf(HEAD);
  const end = guide.indexOf('\n\n', start) + 1;
  if (start === -1 || end === 0) throw new Error('The guide to errors has no table of them.');
  return guide.slice(0, start) + HEAD + rows.join('') + guide.slice(end);
}
