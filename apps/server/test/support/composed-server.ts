import { type RunningServer, startServer } from '../../src/compose.ts';
import { createLogger } from '../../src/operations/logger.ts';
import { readSettings } from '../../src/settings.ts';
import { ObservedServer, TEST_SETTINGS, withStores } from './observed-server.ts';

/** The whole server in the process of the tests: all but signals, exit codes and the standard streams. */
export class ComposedServer extends ObservedServer implements AsyncDisposable {
  readonly #ended = Promise.withResolvers<Error | undefined>();
  /** Resolves with the error after which it cannot continue, if that is why. */
  readonly exited = this.#ended.promise;
  #running: RunningServer | undefined;
  #stopped: Promise<void> | undefined;

  /** @param environment has a DATABASE_URL: no data folder is used */
  async start(environment: Record<string, string> & { readonly DATABASE_URL: string }): Promise<void> {
    const settings = readSettings({ ...TEST_SETTINGS, ...environment }, { workingFolder: '/', isTerminal: false });
    this.#running = await startServer(settings, {
      logger: await createLogger(settings, { write: (line) => this.receive(line) }),
      recordsSpans: false,
      onFatal: this.#ended.resolve,
      signal: new AbortController().signal,
    });
  }

  /** Stops it as a signal does. */
  stop(): Promise<void> {
    this.#stopped ??= this.#close();
    return this.#stopped;
  }

  async #close(): Promise<void> {
    await this.#running?.close();
    this.#ended.resolve(undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

export interface Composed extends AsyncDisposable {
  readonly server: ComposedServer;
  readonly databaseUrl: string;
}

/**
 * As `startServer` of spawned-server.ts, at a twentieth of its cost: for what needs no process of its own.
 *
 * @throws what the start is refused for
 */
export async function composeServer(environment: Record<string, string> = {}): Promise<Composed> {
  await using resources = new AsyncDisposableStack();
  const settings = await withStores(environment, resources);
  const server = resources.use(new ComposedServer());
  await server.start(settings);
  const owned = resources.move();
  return { server, databaseUrl: settings.DATABASE_URL, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
