import { PLAN_NAMES } from '@petstore/domain';
import type { Logger } from 'pino';
import manifest from '../../package.json' with { type: 'json' };
import { type DemoKey, demoKeysFile } from '../embedded/demo-keys.ts';
import type { Settings } from '../settings.ts';

const PLAN_WIDTH = Math.max(...PLAN_NAMES.map((name) => name.length));

/** The facts to print once requests are served. */
export interface ServingFacts {
  /** The URL at which this machine reaches the service, such as `http://127.0.0.1:3000`. */
  readonly publicUrl: string;
  /** The URL by the settings, such as `http://0.0.0.0:3000`. */
  readonly listenUrl: string;
  readonly adminUrl: string;
  /** The place of the data, without a password. */
  readonly database: string;
  /** The place where limits are counted. */
  readonly limits: string;
  /** Empty if the database is not the embedded one, or no demo key is valid any more. */
  readonly demoKeys: readonly DemoKey[];
}

/** Prints the banner or, if a program reads the log, a log line. Both contain `listening on`. */
export function printStartupMessage(facts: ServingFacts, settings: Settings, logger: Logger): void {
  if (settings.showsBanner) {
    process.stdout.write(renderBanner(facts, settings.dataFolder));
    return;
  }
  const { listenUrl, demoKeys, ...rest } = facts;
  const keysFile = demoKeys.length === 0 ? undefined : demoKeysFile(settings.dataFolder);
  const { pid } = process;
  // Logged at every level: programs that start the server wait for this line, and read the port from it.
  logger
    .child({}, { level: 'info' })
    .info({ ...rest, demoKeysFile: keysFile, version: manifest.version, pid }, `listening on ${listenUrl}`);
}

/**
 * Addresses, and a call to copy. The most useful lines come last, and all of them fit a small terminal. Whole keys are
 * printed only on a terminal; other outputs are often kept.
 */
function renderBanner(
  { publicUrl, listenUrl, adminUrl, database, limits, demoKeys }: ServingFacts,
  dataFolder: string,
): string {
  const isTerminal = process.stdout.isTTY === true;
  const keys = isTerminal
    ? demoKeys.map(({ plan, readOnly, text }) => `${(readOnly ? 'read-only' : plan.name).padEnd(PLAN_WIDTH)} ${text}`)
    : [demoKeysFile(dataFolder)];
  const [first] = isTerminal ? demoKeys : [];
  return [
    '',
    `Petstore Orders ${manifest.version}, process ${process.pid}`,
    '',
    `  Data      ${database}`,
    `  Limits    ${limits}`,
    ...(demoKeys.length === 0 ? [] : keys.map((key, i) => `  ${(i === 0 ? 'Demo keys' : '').padEnd(9)} ${key}`)),
    ...(first === undefined
      ? []
      : ['', `  curl -H "Authorization: Bearer ${first.text}" ${publicUrl}/v1/store/orders`]),
    '',
    `  Health    ${adminUrl}/readyz (also /livez, /metrics)`,
    `  Reference ${publicUrl}/docs`,
    `  tRPC      ${publicUrl}/trpc`,
    `  REST      ${publicUrl}/v1`,
    '',
    `listening on ${listenUrl}`,
    '',
  ].join('\n');
}
