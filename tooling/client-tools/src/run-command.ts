import { spawn } from 'node:child_process';
import { once } from 'node:events';

const KEPT_CHARACTERS = 2_000_000;

export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** Both streams, in the order in which they came. */
  readonly output: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly timeoutMs?: number;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a tool gets of our environment: nothing but where programs are, and where the registry client is set up. */
const TOOL_ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(PATH|HOME|npm_config_.*|NODE_EXTRA_CA_CERTS|.*_PROXY)$/i.test(name),
  ),
);

const running = new Set<() => void>();
let isInterrupted = false;

/** Ends all running commands and lets no other begin: each of them throws, so that its caller clears up. */
export function interruptCommands(): void {
  isInterrupted = true;
  for (const end of running) end();
}

/** Runs a program to its end. */
export async function runCommand(
  [command, ...args]: readonly [string, ...string[]],
  { cwd, timeoutMs = 120_000, input = '', env = {} }: CommandOptions,
): Promise<CommandResult> {
  if (isInterrupted) throw new Error('interrupted');
  const child = spawn(command, args, {
    cwd,
    env: { ...TOOL_ENVIRONMENT, ...env, CI: '1', NO_COLOR: '1' },
    detached: true,
  });
  const end = () => {
    try {
      // With all that it has started.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  };
  const timer = setTimeout(end, timeoutMs);
  running.add(end);
  let stdout = '';
  let output = '';
  const keep = (text: string) => {
    output = (output + text).slice(-KEPT_CHARACTERS);
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout = (stdout + text).slice(-KEPT_CHARACTERS);
    keep(text);
  });
  child.stderr.setEncoding('utf8').on('data', keep);
  child.stdin.on('error', () => {}).end(input); // it may end without reading it
  try {
    await once(child, 'close');
    if (isInterrupted) throw new Error('interrupted');
    return { exitCode: child.exitCode, stdout, output };
  } finally {
    clearTimeout(timer);
    running.delete(end);
  }
}

/** @throws Error with its output when it fails */
export async function runOrThrow(
  command: readonly [string, ...string[]],
  options: CommandOptions,
): Promise<CommandResult> {
  const result = await runCommand(command, options);
  if (result.exitCode === 0) return result;
  throw new Error(`${command.join(' ')} ended with ${result.exitCode}:\n${result.output.slice(-4_000)}`);
}
