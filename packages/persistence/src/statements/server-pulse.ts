import { StorageUnavailableError } from '@petstore/domain';

/** A server with a response outstanding for so long gets a ping. */
const ASK_AFTER_MS = 500;

/** When a server that gave no sign of itself counts as one that hangs. */
const HUNG_AFTER_MS = 1_600;

/** What fails sooner than this failed because something refused it: whatever hung does not hang any more. */
const PROMPT_MS = 1_000;

/** Between two attempts to reach a server that hangs. */
const ASK_INTERVAL_MS = 250;

/** Connections to the server, as far as it matters for whether that hangs. */
interface Listener {
  readonly heardAgoMs: number;
  abandon(error: Error): void;
}

/**
 * Whether the server responds at all, by what arrives on all connections. One that is silent may have a statement that
 * takes long, or its process on the server may be frozen; when all are silent, and a ping is, too, the server hangs. All
 * statements then fail at once, those under way and new ones, until it responds to a ping.
 */
export class ServerPulse {
  /** Why statements fail at once; `undefined` where they do not. */
  hung: StorageUnavailableError | undefined;
  readonly #ping: () => Promise<unknown>;
  readonly #listeners: Listener[] = [];
  #asking: Promise<void> | undefined;
  #isClosed = false;

  /** @param ping sends a statement that takes no time, on any connection, whether or not the server hangs */
  constructor(ping: () => Promise<unknown>) {
    this.#ping = ping;
  }

  join(listener: Listener): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Called where a connection has not responded for some time. */
  onSilence(silentMs: number): void {
    if (this.hung !== undefined) return;
    const heardAgoMs = Math.min(...this.#listeners.map((listener) => listener.heardAgoMs));
    const silenceMs = Math.min(silentMs, heardAgoMs);
    if (silenceMs >= HUNG_AFTER_MS) this.#becomeHung();
    else if (silenceMs >= ASK_AFTER_MS) void this.#ask();
  }

  #becomeHung(): void {
    this.hung = new StorageUnavailableError('PostgreSQL is hung (no response)');
    for (const listener of this.#listeners) listener.abandon(this.hung);
    void this.#askUntilHeard();
  }

  async #askUntilHeard(): Promise<void> {
    while (!this.#isClosed) {
      const begin = performance.now();
      const isHeard = await this.#ping().then(
        () => true,
        (error: unknown) => isFromOutside(error) && performance.now() - begin < PROMPT_MS,
      );
      if (isHeard) break;
      await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS).unref());
    }
    this.hung = undefined;
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#ping()
      .then(
        () => {},
        () => {}, // silence is noticed as that of any other statement
      )
      .finally(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }
}

/** Whether the server or the system has refused something. What we refuse ourselves is no sign of life, nor is a time-out. */
function isFromOutside(error: unknown): boolean {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  if (cause instanceof AggregateError) return cause.errors.every(isFromOutside);
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string';
}
