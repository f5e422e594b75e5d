import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../../../..');

/** A step of a document that a reader follows. */
export type Step =
  | { readonly kind: 'command'; readonly command: string; readonly shown: string }
  | { readonly kind: 'program'; readonly file: string; readonly source: string };

/**
 * The commands that a test can run. A block with any other command is left out whole, since what comes after a command
 * may build on it.
 */
const RUNNABLE = [
  /^curl /,
  /^(?:npx --yes pnpm@12 -s |\.\/)petstore /,
  /^psql /,
  /^redis-cli /,
  /^(?:node [\w-]+\.m[jt]s|sh [\w-]+\.sh)( > [\w-]+\.txt &)?$/,
  /^export \w+=/,
  /^sleep \d; /,
  /^kill \$!; wait$/,
];

/** A fenced block, with the line above it that names the file, where there is one. */
const BLOCK = /^(?:As `(?<file>[\w-]+\.\w+)`.*\n\n)?```(?<language>\w*)\n(?<content>[\s\S]*?)^```$/gm;

/** @param document the path below the root */
export const readSteps = (document: string): readonly Step[] => stepsIn(readFileSync(join(ROOT, document), 'utf8'));

/**
 * The `console` blocks of a document, and the programs that it names ("As `shop.mjs`:"), in their order.
 *
 * @throws Error if a block does not begin with a command
 */
export function stepsIn(markdown: string): readonly Step[] {
  return Array.from(markdown.matchAll(BLOCK)).flatMap(({ groups = {} }): readonly Step[] => {
    const { file, language, content = '' } = groups;
    if (file !== undefined) return [{ kind: 'program', file, source: content }];
    if (language !== 'console') return [];
    const commands = readCommands(content);
    return commands.every(({ command }) => RUNNABLE.some((pattern) => pattern.test(command))) ? commands : [];
  });
}

function readCommands(block: string): (Step & { readonly kind: 'command' })[] {
  const [before, ...parts] = block.split(/^\$ /m);
  if (before !== '') throw new Error(`A console block begins with "$ " and a command, not with ${before}`);
  return parts.map((part) => {
    const [command = '', ...lines] = part.split('\n');
    return { kind: 'command', command, shown: lines.join('\n') };
  });
}

/** What differs between two runs of the same command; all else is compared as it is. */
const DIFFERING: readonly (readonly [RegExp, string])[] = [
  [/\r\n/g, '\n'],
  [/\bpso_(live|demo)_[\dA-Za-z]{8}_[\dA-Za-z]{38}\b/g, 'pso_$1_(id)_(secret)'],
  [/"id":"[\dA-Za-z]{8}"/g, '"id":"(id)"'],
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g, '(request id)'],
  [/^(x-ratelimit-(?:remaining|reset): )\d+$/gm, '$1(number)'],
  [/^\d+ (order\.\w+) \d+:/gm, '(event) $1 (order):'],
  [/^\d+ (?=orders(?: at first|, the last one))/gm, '(number) '],
  // What a shell says of its jobs, if it is a person's.
  [/^(?:\[\d\] +\d+|\[\d\]\+ +Terminated .*|bash: line \d+: +\d+ Terminated .*)\n?/gm, ''],
  [/\b(placedAt: )\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '$1(time)'],
];

/** Text of a terminal without what differs from run to run. */
export function comparable(text: string): string {
  // Between the end of what is printed and the next prompt a document may have an empty line, or none.
  return DIFFERING.reduce((result, [pattern, by]) => result.replace(pattern, by), text).trimEnd();
}

/** Whether a comparable text matches what a document shows, where `...` stands for anything. */
export function isAsShown(printed: string, shown: string): boolean {
  const parts = shown.split('...').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*?')}$`, 's').test(printed);
}
