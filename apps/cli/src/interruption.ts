import type { Output } from './output.ts';

/** Reports the outcome of a command that Ctrl-C or another signal interrupts. */
export class Interruption {
  readonly #output: Pick<Output, 'message'>;
  #outcome: string | undefined;
  #isCommitting = false;
  #isWaiting = false;

  constructor(output: Pick<Output, 'message'>) {
    this.#output = output;
  }

  /** @param outcome the message if the command is interrupted from now on: `Nothing was imported.` */
  setOutcome(outcome: string): void {
    this.#outcome = outcome;
    this.#isCommitting = false;
  }

  /** From now on the outcome depends on the database, until {@link setOutcome} is called again. */
  beginCommit(): void {
    this.#isCommitting = true;
  }

  /** Whether the database is committing. The outcome is then unknown until it has responded. */
  get isCommitting(): boolean {
    return this.#isCommitting;
  }

  /** Called for each signal. @returns whether the process should end at once: during a commit, at the second one */
  receiveSignal(): boolean {
    if (!this.#isCommitting) {
      if (this.#outcome !== undefined) this.#output.message(`Interrupted. ${this.#outcome}`);
      return true;
    }
    this.#output.message(
      this.#isWaiting
        ? 'Interrupted during the commit. Either everything was stored, or nothing.'
        : 'The database is committing: waiting for its response. Interrupt again to exit without waiting.',
    );
    const wasWaiting = this.#isWaiting;
    this.#isWaiting = true;
    return wasWaiting;
  }
}
