import { limitsOfPlan } from '@petstore/domain';
import type { DemoKey } from './embedded/demo-keys.ts';

export interface BannerFacts {
  /** Where this machine reaches it, as in `http://127.0.0.1:3000`. */
  readonly publicUrl: string;
  /** As the setting says, as in `http://0.0.0.0:3000`. */
  readonly listenUrl: string;
  readonly adminUrl: string;
  /** Where the data is, without a password. */
  readonly database: string;
  /** Where limits are counted. */
  readonly limits: string;
  /** How many serve. Left out: this one alone. */
  readonly processes?: number;
  /** Empty where the database is not the embedded one, and where none of them is valid any more. */
  readonly demoKeys: readonly DemoKey[];
}

export interface BannerOptions {
  /** Whether a person reads along. Whole keys are for nobody else: what is no terminal is kept, and read by others. */
  readonly isTerminal: boolean;
  /** Where the demo keys are told otherwise. */
  readonly demoKeysFile: string;
}

/** What a person reads who started the server: where everything is, and calls to copy. */
export function renderBanner(facts: BannerFacts, { isTerminal, demoKeysFile }: BannerOptions): string {
  const { publicUrl, listenUrl, adminUrl, database, limits, processes, demoKeys } = facts;
  const lines = [
    '',
    'Petstore Orders',
    '',
    `  REST      ${publicUrl}/v1`,
    `  tRPC      ${publicUrl}/trpc`,
    `  Reference ${publicUrl}/docs`,
    `  Health    ${adminUrl}/readyz (also /livez, /metrics)`,
    `  Data      ${database}`,
    `  Limits    ${limits}`,
  ];
  if (processes !== undefined) lines.push(`  Processes ${processes}`);
  if (demoKeys.length > 0 && !isTerminal) lines.push(`  Demo keys ${demoKeysFile}`);
  if (demoKeys.length > 0 && isTerminal) lines.push('', '  Demo keys, to list the orders:');
  for (const { plan, text } of isTerminal ? demoKeys : []) {
    const { perMinute, perDay } = limitsOfPlan(plan);
    const quota = `${perMinute.toLocaleString('en')} a minute, ${perDay.toLocaleString('en')} a day`;
    lines.push(
      '',
      `  # ${plan.name}: ${quota}`,
      `  curl -H "Authorization: Bearer ${text}" ${publicUrl}/v1/store/orders`,
    );
  }
  lines.push('', listeningLine(listenUrl), '');
  return lines.join('\n');
}

/** The line that tells whoever waits for it that requests are answered. */
export const listeningLine = (listenUrl: string): string => `listening on ${listenUrl}`;
