import type { Output } from './output.ts';

/** Reports the outcome of a command that Ctrl-C or another signal interrupts. */
export class Interruption {
  readonly #output: Pick<Output, 'message'>;
  #outcome: string | undefined;
  #isCommitting = false;
  #isAwaited = false;

  constructor(output: Pick<Output, 'message'>) {
    this.#output = output;
  }

  /** @param outcome the message if the command ends from now on: `Nothing was imported.` */
  leaves(outcome: string): void {
    this.#outcome = outcome;
    this.#isCommitting = false;
  }

  /** From now on the outcome depends on the database, until {@link leaves} is called again. */
  commits(): void {
    this.#isCommitting = true;
  }

  /** Whether the database is committing. The outcome is then unknown until it has responded. */
  get isCommitting(): boolean {
    return this.#isCommitting;
  }

  /** Called for each signal. @returns whether the process should end at once */
  receive(): boolean {
    const isFirst = !this.#isAwaited;
    if (this.#isCommitting && isFirst) {
      this.#isAwaited = true;
      this.#output.message('The database is committing: waiting for its response. Interrupt again to end without it.');
      return false;
    }
    if (this.#isCommitting) this.#output.message('Interrupted during the commit. Everything was stored, or nothing.');
    else if (this.#outcome !== undefined) this.#output.message(`Interrupted. ${this.#outcome}`);
    return true;
  }
}
