import { parseArgs } from 'node:util';

/** Wrong arguments. The message says what would be right. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface BenchOptions<ScenarioName extends string = string> {
  /** Which scenarios to run, in the order in which they are listed. */
  readonly scenarios: readonly ScenarioName[];
  /** How often each is measured: 1 to 50. The tables show medians. */
  readonly rounds: number;
  /** Duration of each measurement of a load, and of its warm-up, in seconds: 1 to 60. */
  readonly seconds: number;
  /** Orders in the long lists. */
  readonly longListCount: number;
}

export const USAGE = `pnpm bench [--only a,b] [--rounds N] [--seconds S] [--quick]

  --only a,b     run these scenarios only
  --rounds N     measure each N times (3; 1 when quick); the tables show medians
  --seconds S    load a server for S seconds each time (3; 1 when quick)
  --quick        short rounds, and lists of 100,000 orders instead of 1,000,000
  --help         show this
`;

const MAX_ROUNDS = 50;
const MAX_SECONDS = 60;
const OPTIONS = {
  only: { type: 'string' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/**
 * @param args what follows the program's name
 * @returns `undefined` where only help is asked for
 * @throws UsageError
 */
export function readArguments<ScenarioName extends string>(
  args: readonly string[],
  known: readonly ScenarioName[],
): BenchOptions<ScenarioName> | undefined {
  const { help, quick, only, rounds, seconds } = parse(args);
  if (help) return undefined;
  return {
    scenarios: only === undefined ? known : chooseScenarios(only, known),
    rounds: readWholeNumber('--rounds', rounds, MAX_ROUNDS) ?? (quick ? 1 : 3),
    seconds: readWholeNumber('--seconds', seconds, MAX_SECONDS) ?? (quick ? 1 : 3),
    longListCount: quick ? 100_000 : 1_000_000,
  };
}

function parse(args: readonly string[]) {
  try {
    // npm and older pnpm pass on the dashes that end their own options.
    return parseArgs({ args: args[0] === '--' ? args.slice(1) : [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function chooseScenarios<ScenarioName extends string>(list: string, known: readonly ScenarioName[]) {
  const wanted = list.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !known.some((scenario) => scenario === name));
  if (unknown !== undefined) throw new UsageError(`There is no scenario "${unknown}". There are: ${known.join(', ')}.`);
  return known.filter((name) => wanted.includes(name));
}

function readWholeNumber(option: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
  throw new UsageError(`${option} must be a whole number from 1 to ${max}, not "${text}".`);
}
