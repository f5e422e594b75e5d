import { EventEmitter, once } from 'node:events';
import { createTestRedis } from '@petstore/testing';
import { createServerDatabase } from './database.ts';

/** What callers, operators and readers of the log see of a server, in whatever process it runs. */
export abstract class ObservedServer {
  /** Emits `text` when something has been written. */
  readonly #output = new EventEmitter();
  stdout = '';
  stderr = '';

  /** Resolves when it has ended, and all that it wrote was received. */
  abstract readonly exited: Promise<unknown>;

  protected receive(text: string): void {
    this.stdout += text;
    this.#output.emit('text');
  }

  /** Waits until the output holds something. */
  async said(pattern: RegExp, timeoutMs = 50_000): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(timeoutMs);
    for (let hasEnded = false; ; ) {
      const match = pattern.exec(this.stdout);
      if (match !== null) return match;
      if (hasEnded || signal.aborted) {
        const state = hasEnded ? `ended with ${JSON.stringify(await this.exited)}` : 'still running';
        throw new Error(`the server did not say ${pattern} (${state}):\n${this.stdout}\n${this.stderr}`);
      }
      const output = once(this.#output, 'text', { signal }).catch(() => {}); // the time is over
      hasEnded = await Promise.race([output.then(() => false), this.exited.then(() => true)]);
    }
  }

  /** The public listener's URL, once the server is ready. */
  async url(): Promise<string> {
    return (await this.said(/listening on (http:\/\/[^\s"]+)[\s"]/))[1] ?? '';
  }

  /** The URL of the admin listener, which is available from the start. */
  async adminUrl(): Promise<string> {
    return (await this.said(/(http:\/\/[^\s"]+)\/readyz/))[1] ?? '';
  }

  async readiness(): Promise<{ status: number; report: Record<string, unknown> }> {
    const response = await fetch(`${await this.adminUrl()}/readyz`);
    return { status: response.status, report: (await response.json()) as Record<string, unknown> }; // for assertions
  }

  /** What /metrics holds: the value of each series, by its name and labels. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`${await this.adminUrl()}/metrics`)).text();
    return new Map([...text.matchAll(/^([a-z]\S*) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]));
  }

  /** The lines of the JSON log with this message. */
  logLines(message: string): Record<string, unknown>[] {
    const lines = this.stdout.split('\n').filter((line) => line.includes(JSON.stringify(message)));
    return lines.map((line): Record<string, unknown> => JSON.parse(line)).filter(({ msg }) => msg === message);
  }
}

/** Settings that hold whenever and beside whatever the tests run: ports are free ones, and no operation is sunset. */
export const TEST_SETTINGS = { PORT: '0', PETS_SUNSET_AT: '2999-12-31' };

/**
 * Adds a database, which has {@link KEYS}, and a Redis to the settings of a server that names none.
 *
 * @param resources own what is made
 */
export async function withStores(environment: Record<string, string>, resources: AsyncDisposableStack) {
  const DATABASE_URL = environment['DATABASE_URL'] ?? resources.use(await createServerDatabase()).url;
  const REDIS_URL = environment['REDIS_URL'] ?? resources.use(await createTestRedis()).url;
  return { ...environment, DATABASE_URL, REDIS_URL };
}
