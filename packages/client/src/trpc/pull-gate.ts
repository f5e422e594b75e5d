/**
 * Holds a response back until its reader wants the next piece. tRPC's streams read on whatever their reader does, and keep
 * all that has come, so reading from the network has to wait instead.
 */
export class PullGate {
  #isOpen = true;
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** The reader waits for a piece. This is how a gate begins. */
  open(): void {
    this.#isOpen = true;
    this.#wake?.();
  }

  /** The reader waits for nothing at the moment. */
  close(): void {
    this.#isOpen = false;
  }

  /** The reader will never want another piece. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** Resolves to true when the reader waits for a piece, to false when it has ended. For one caller at a time. */
  async passed(): Promise<boolean> {
    while (!(this.#isOpen || this.#isEnded)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.#isEnded;
  }
}
