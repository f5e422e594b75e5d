import { randomInt } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { runRound } from './support/run-round.ts';

const SECONDS = readNumber('PETSTORE_FAULTS_SECONDS') ?? 40;
const SEED = readNumber('PETSTORE_FAULTS_SEED') ?? randomInt(2 ** 31);

/** A longer run is one of several rounds, each with a seed of its own, so that each can be replayed by itself. */
const ROUND_SECONDS_MAX = 60;

/** One lost commit may contradict many responses. */
const FINDINGS_SHOWN = 20;

function readNumber(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new RangeError(`${name} is ${text}, and must be a whole number from 1 on`);
  return Number(text);
}

const roundCount = Math.ceil(SECONDS / ROUND_SECONDS_MAX);
const seconds = Math.ceil(SECONDS / roundCount);
const summaries: string[] = [];

afterAll(() => {
  console.log(summaries.join('\n'));
});

test.for(Array.from({ length: roundCount }, (_, i) => SEED + i))(
  'what callers see while servers and PostgreSQL fail is explained by an order of single steps (seed %i)',
  async (seed) => {
    const { summary, findings } = await runRound({ seed, seconds });
    summaries.push(summary);
    const more = findings.length > FINDINGS_SHOWN ? [`and ${findings.length - FINDINGS_SHOWN} more`] : [];
    const shown = [summary, ...findings.slice(0, FINDINGS_SHOWN), ...more].join('\n\n');
    const replay = `PETSTORE_FAULTS_SEED=${seed} PETSTORE_FAULTS_SECONDS=${seconds} pnpm test:faults`;
    expect(findings, `${shown}\n\nThe same choices again: ${replay}`).toEqual([]);
  },
);
