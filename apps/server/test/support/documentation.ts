import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createTemporaryFolder, endWithTestRun } from '@petstore/testing';

export const ROOT = join(import.meta.dirname, '../../../..');

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

const CLIENT = join(import.meta.dirname, '../../node_modules/@petstore/client');
/** Where the server of the documents listens. */
const DOCUMENTED_HOST = '127.0.0.1:3000';

interface Surroundings {
  /** The URL of the server. */
  readonly url: string;
  readonly dataFolder: string;
  /** The demo key that the reader uses. */
  readonly demoKey: string;
  /** Further variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What stands for something in documents, and what it is here. */
  readonly names?: Readonly<Record<string, string>>;
}

/** A reader who follows a document: with a terminal, in a folder where the client is installed. */
export class Reader implements AsyncDisposable {
  readonly #folder = createTemporaryFolder();
  readonly #surroundings: Surroundings;
  readonly #names: readonly (readonly [documented: string, here: string])[];
  readonly #bash: ChildProcessByStdio<Writable, Readable, null>;
  readonly #output: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;
  /** The last key that a command printed. */
  #issuedKey = '';

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    const { url, names = {} } = surroundings;
    this.#names = Object.entries({ [DOCUMENTED_HOST]: new URL(url).host, ...names });
    this.#install();
    this.#bash = spawn('bash', ['--noprofile', '--norc'], {
      cwd: this.#folder.path,
      env: {
        // This Node first, because the sources need its version.
        PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
        // Where curl finds its settings.
        HOME: this.#folder.path,
        DATA_DIR: surroundings.dataFolder,
        PETSTORE_API_KEY: surroundings.demoKey,
        ...surroundings.environment,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
      // A process group of its own, so that a command that hangs ends with it.
      detached: true,
    });
    this.#closed = once(this.#bash, 'close').then(endWithTestRun(this.#pid));
    // The end of the output shows that bash has ended.
    this.#bash.stdin.on('error', () => undefined).write('exec 2>&1\n');
    this.#output = this.#bash.stdout.setEncoding('utf8')[Symbol.asyncIterator]();
  }

  get #pid(): number {
    if (this.#bash.pid === undefined) throw new Error('bash was not started');
    return this.#bash.pid;
  }

  #install(): void {
    for (const name of ['@petstore/client', '@trpc/client']) {
      const installed = join(this.#folder.path, 'node_modules', name);
      mkdirSync(dirname(installed), { recursive: true });
      symlinkSync(realpathSync(name === '@petstore/client' ? CLIENT : join(CLIENT, 'node_modules', name)), installed);
    }
    // curl shows its progress on a pipe, but not on a terminal.
    this.writeFile('.curlrc', 'no-progress-meter\n');
  }

  writeFile(name: string, content: string): void {
    writeFileSync(join(this.#folder.path, name), this.#named(content));
  }

  /** A text of a document with what is here. */
  #named(text: string): string {
    return this.#names.reduce((named, [documented, here]) => named.replaceAll(documented, here), text);
  }

  /**
   * Runs a command of a document, after those before it in the same shell.
   *
   * @returns what it printed, with the host and the names of the document in place of those here
   */
  async run(command: string): Promise<{ readonly exitCode: number; readonly printed: string }> {
    const end = randomUUID();
    const quoted = `'${this.#here(command).replaceAll("'", String.raw`'\''`)}'`;
    // By `eval`, so that a command that bash cannot read does not end it.
    this.#bash.stdin.write(`eval ${quoted} </dev/null; printf '%s %d\\n' ${end} $?\n`);
    for (let text = ''; ; ) {
      const { value, done } = await this.#output.next();
      if (done) throw new Error(`bash ended at ${command}\n${text}`);
      text += value;
      const [tail, exitCode] = new RegExp(`${end} (\\d+)\n$`).exec(text) ?? [];
      if (tail === undefined) continue;
      const printed = text.slice(0, -tail.length);
      this.#issuedKey = /\bpso_live_\w+/.exec(printed)?.[0] ?? this.#issuedKey;
      const asDocumented = this.#names.reduce((text, [documented, here]) => text.replaceAll(here, documented), printed);
      return { exitCode: Number(exitCode), printed: asDocumented };
    }
  }

  /** A command of a document for this server and its keys, and the CLI without pnpm, which may need a registry. */
  #here(command: string): string {
    return this.#named(command)
      .replace(/^(?:npx --yes pnpm@12 -s |\.\/)petstore /, `node '${join(ROOT, 'apps/cli/src/main.js')}' `)
      .replace(/\bpso_demo_[\w.]+/, this.#surroundings.demoKey)
      .replace(/\bpso_live_[\w.]+/, this.#issuedKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#bash.exitCode === null && this.#bash.signalCode === null) process.kill(-this.#pid, 'SIGKILL');
    await this.#closed;
    this.#folder[Symbol.dispose]();
  }
}
