/**
 * Whether somebody waits for the next piece of an answer. tRPC's streams read on whatever their reader does, and keep all
 * that has come: it is for whoever reads from the network to wait until somebody asks.
 */
export class Demand {
  #isOpen = true;
  #isOver = false;
  #wake: (() => void) | undefined;

  /** Somebody waits. So it is at the beginning. */
  open(): void {
    this.#isOpen = true;
    this.#wake?.();
  }

  /** Nobody does for now. */
  close(): void {
    this.#isOpen = false;
  }

  /** Nobody ever will. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Resolves when somebody waits, to true, or when nobody ever will, to false. For one at a time. */
  async isWanted(): Promise<boolean> {
    while (!(this.#isOpen || this.#isOver)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.#isOver;
  }
}
