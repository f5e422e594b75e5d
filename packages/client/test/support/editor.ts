import { join } from 'node:path';
import { API } from 'typescript/unstable/sync';

/** What an editor shows of one expression in a program. */
export interface Shown {
  /** The tags in its documentation, such as `beta`. */
  readonly tags: readonly string[];
  readonly isStruckThrough: boolean;
}

/**
 * Asks TypeScript, as an editor does, for what it shows at the end of each expression in a program.
 *
 * @param folder where the program would be: from there its imports are resolved
 * @param head the beginning of the program, which declares what the expressions use
 * @param project the content of its tsconfig.json, without its files
 * @throws Error if an expression has a name that its type does not have
 */
export function showInEditor(
  folder: string,
  head: string,
  expressions: readonly string[],
  project: object,
): ReadonlyMap<string, Shown> {
  const program = join(folder, 'shown.ts');
  const config = join(folder, 'tsconfig.shown.json');
  const text = [head, ...expressions, ''].join(';\n');
  const files = new Map([
    [program, text],
    [config, JSON.stringify({ include: [], ...project, files: ['shown.ts'] })],
  ]);
  // Anything else is read from the disk.
  const fs = {
    readFile: (path: string) => files.get(path),
    fileExists: (path: string) => files.has(path) || undefined,
  };
  const api = new API({ cwd: folder, fs });
  try {
    const opened = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (opened === undefined) throw new Error('The program cannot be read.');
    const { checker } = opened;
    const struck = opened.program.getSuggestionDiagnostics(program).filter((found) => found.reportsDeprecated);
    return new Map(
      expressions.map((expression) => {
        const last = text.indexOf(`\n${expression};`) + expression.length;
        const symbol = checker.getSymbolAtPosition(program, last);
        if (symbol === undefined) throw new Error(`There is no ${expression}.`);
        const tags = symbol.getJsDocTags(checker).map(({ name }) => name);
        return [expression, { tags, isStruckThrough: struck.some(({ pos, end }) => pos <= last && last <= end) }];
      }),
    );
  } finally {
    api.close();
  }
}
