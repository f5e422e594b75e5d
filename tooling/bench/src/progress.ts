/** A part of the run, and how long it takes, as far as one can know beforehand. */
export interface PlannedPart {
  readonly name: string;
  readonly plannedSeconds: number;
}

const REFRESH_MS = 500;

/**
 * Shows where a run is: on a terminal one line that is written over, elsewhere a line for each step.
 * What is measured must not share the processor with a display, so there is nothing to it.
 */
export class Progress implements Disposable {
  readonly #parts: readonly PlannedPart[];
  readonly #output: NodeJS.WriteStream;
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #current = 0;
  #currentStartMs = performance.now();
  #step = '';

  /** @param output where tables do not go: standard error */
  constructor(parts: readonly PlannedPart[], output: NodeJS.WriteStream) {
    this.#parts = parts;
    this.#output = output;
    if (output.isTTY) this.#timer = setInterval(() => this.#draw(), REFRESH_MS).unref();
  }

  begin(name: string): void {
    this.#current = Math.max(
      0,
      this.#parts.findIndex((part) => part.name === name),
    );
    this.#currentStartMs = performance.now();
    this.step('preparing');
  }

  /** Tells what is being done now. */
  step(text: string): void {
    this.#step = text;
    if (this.#output.isTTY) this.#draw();
    else this.#output.write(`${this.#line()}\n`);
  }

  /** Takes the line away, for what is printed next. */
  clear(): void {
    clearInterval(this.#timer);
    if (this.#output.isTTY) this.#output.write('\r\x1b[K');
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  #draw(): void {
    const line = this.#line().slice(0, (this.#output.columns || 80) - 1);
    this.#output.write(`\r${line}\x1b[K`);
  }

  #line(): string {
    const nowMs = performance.now();
    const restSeconds = restOf(this.#parts, this.#current, (nowMs - this.#currentStartMs) / 1000);
    const place = `[${this.#current + 1}/${this.#parts.length}] ${this.#parts[this.#current]?.name ?? ''}`;
    const time = `${formatDuration((nowMs - this.#startMs) / 1000)}, about ${formatDuration(restSeconds)} left`;
    return `${place}: ${this.#step} (${time})`;
  }
}

/** Seconds until a run is over that has spent some in the current part. */
export function restOf(parts: readonly PlannedPart[], current: number, spentSeconds: number): number {
  return parts
    .slice(current)
    .reduce((sum, { plannedSeconds }, i) => sum + Math.max(0, plannedSeconds - (i === 0 ? spentSeconds : 0)), 0);
}

export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
