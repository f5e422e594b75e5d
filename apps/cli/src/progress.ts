import type { Output } from './output.ts';

const BAR_WIDTH = 20;

/** Before this much time has passed nothing is said of what is left, in milliseconds. */
const ESTIMATE_AFTER_MS = 1_000;

/** How far a long command is, and how long it still takes; on a terminal. */
export class Progress {
  readonly #output: Pick<Output, 'progress'>;
  readonly #verb: string;
  /** When the first record was done: what comes before it, as a start of PostgreSQL, says nothing of the others. */
  #beganAtMs: number | undefined;
  #count = 0;
  #fraction: number | undefined;

  /** @param verb the past participle to show: `read` */
  constructor(output: Pick<Output, 'progress'>, verb: string) {
    this.#output = output;
    this.#verb = verb;
  }

  /** @param fraction of the whole, 0 to 1. `undefined`: unknown */
  advance(count: number, fraction?: number): void {
    this.#beganAtMs ??= performance.now();
    this.#count = count;
    this.#fraction = fraction;
    this.#output.progress(this.#describe());
  }

  /** Says at once what the command waits for when nothing is left to count: `committing`. */
  awaits(phase: string): void {
    if (this.#fraction !== undefined) this.#fraction = 1;
    this.#output.progress(this.#describe(phase), { isDue: true });
  }

  #describe(phase?: string): string {
    const done = `${this.#count.toLocaleString('en')} ${this.#verb}${phase === undefined ? '' : `, ${phase}`}`;
    const fraction = this.#fraction;
    if (fraction === undefined) return done;
    const filled = Math.floor(fraction * BAR_WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
    const percentage = `${Math.floor(fraction * 100)} %`.padStart(5);
    const elapsedMs = performance.now() - (this.#beganAtMs ?? Infinity);
    if (fraction === 0 || fraction === 1 || elapsedMs < ESTIMATE_AFTER_MS) return `${bar} ${percentage}  ${done}`;
    const leftSeconds = Math.ceil((elapsedMs / fraction - elapsedMs) / 1_000);
    return `${bar} ${percentage}  ${done}, ${describeSeconds(leftSeconds)} left`;
  }
}

const describeSeconds = (seconds: number): string => (seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`);
