import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runCommand } from './run-command.ts';
import { type TypesOutcome, VERSIONS, type Version } from './tool.ts';

const TSC = resolve(import.meta.dirname, '../node_modules/.bin/tsc');
const FLAGS =
  '--noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler --target es2024 --lib es2024,dom,dom.iterable --allowImportingTsExtensions';

const PREAMBLE = `import type { createCallers } from './program.ts';
type Callers = ReturnType<typeof createCallers>;
`;

/** Each holds a line that compiles only where what it asks is so. */
const QUESTIONS = {
  idsFit: (version: Version) => `type Caller = Callers['${version}'];
type Read = NonNullable<Awaited<ReturnType<Caller['list']>>['orders'][number]['id']>;
export const sent = (read: Read): Parameters<Caller['cancel']>[0] => read;
`,
  codesAreClosed: (version: Version) => `type Code = Awaited<ReturnType<Callers['${version}']['cancel']>>['code'];
type IsClosed = string extends Code ? false : 'order_already_cancelled' extends Code ? true : false;
export const isClosed: IsClosed = true;
`,
} satisfies Record<keyof TypesOutcome, (version: Version) => string>;

/**
 * Compiles the program with what was generated.
 *
 * @throws Error when it does not compile
 */
export async function checkTypes(folder: string, example?: string): Promise<Readonly<Record<Version, TypesOutcome>>> {
  const fileOf = (name: string, version: Version) => `question-${name}-${version}.ts`;
  for (const version of VERSIONS) {
    for (const [name, question] of Object.entries(QUESTIONS)) {
      writeFileSync(join(folder, fileOf(name, version)), PREAMBLE + question(version));
    }
  }
  const files = VERSIONS.flatMap((version) => Object.keys(QUESTIONS).map((name) => fileOf(name, version)));
  // Types of Node only where the guide's own program needs them.
  const checked = ['--types', example ? 'node' : '', 'program.ts', ...(example ? [example] : []), ...files];
  const { output } = await runCommand([TSC, ...FLAGS.split(' '), ...checked], { cwd: folder });
  const faults = output.split('\n').filter((line) => line.includes('error TS'));
  const others = faults.filter((line) => !line.startsWith('question-'));
  if (others.length > 0) throw new Error(`what was generated does not compile:\n${others.join('\n')}`);
  const answer = (name: keyof TypesOutcome, version: Version) =>
    !faults.some((line) => line.startsWith(fileOf(name, version)));
  const answers = (version: Version): TypesOutcome => ({
    idsFit: answer('idsFit', version),
    codesAreClosed: answer('codesAreClosed', version),
  });
  return { v1: answers('v1'), v2: answers('v2') };
}
