import { Presets, SingleBar } from 'cli-progress';
import type { Output } from './output.ts';

/** Shows the progress and the remaining time of a long command, only on a terminal. */
export class Progress {
  readonly #bar: SingleBar;

  /**
   * @param verb the past participle to show: `read`
   * @param total the final value for {@link advance}; `undefined` if it is unknown
   */
  constructor(output: Output, verb: string, total: number | undefined) {
    const count = `{count} ${verb}{phase}`;
    const format = total === undefined ? count : `{bar} {percentage} %  ETA {eta_formatted}  ${count}`;
    const { stderr: stream } = output;
    this.#bar = new SingleBar({ format, stream, barsize: 20, clearOnComplete: true }, Presets.shades_classic);
    this.#bar.start(total ?? 0, 0, { count: 0, phase: '' });
    output.beginProgress(() => this.#bar.stop());
  }

  /** @param count the number of finished records. @param done the finished part of the total */
  advance(count: number, done = count): void {
    this.#bar.update(Math.min(done, this.#bar.getTotal()), { count: count.toLocaleString('en') });
  }

  /** Shows what the command waits for when nothing is left to count: `committing`. */
  awaits(phase: string): void {
    this.#bar.update({ phase: `, ${phase}` });
  }
}
