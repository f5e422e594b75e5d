import { randomInt } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { runRound } from './support/run-round.ts';

const SECONDS = Number(process.env['PETSTORE_FAULTS_SECONDS'] ?? 40);
const SEED = Number(process.env['PETSTORE_FAULTS_SEED'] ?? randomInt(2 ** 31));

/** A longer run is one of several rounds, each with a seed of its own, so that each can be replayed by itself. */
const ROUND_SECONDS_MAX = 60;

const rounds = Math.ceil(SECONDS / ROUND_SECONDS_MAX);
const summaries: string[] = [];

afterAll(() => {
  console.log(summaries.join('\n'));
});

test.for(Array.from({ length: rounds }, (_, i) => SEED + i))(
  'what callers see while servers and PostgreSQL fail is explained by an order of single steps (seed %i)',
  async (seed) => {
    const { summary, findings } = await runRound({ seed, seconds: SECONDS / rounds });
    summaries.push(summary);
    const replay = `PETSTORE_FAULTS_SEED=${seed} PETSTORE_FAULTS_SECONDS=${SECONDS / rounds} pnpm test:faults`;
    expect(findings, `${summary}\n\n${findings.join('\n\n')}\n\nThe same choices again: ${replay}`).toEqual([]);
  },
);
