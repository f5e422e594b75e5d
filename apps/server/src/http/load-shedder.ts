import type { HttpBounds } from './app-options.ts';

/** What the listener has to do at the moment, and the bounds of it. */
export class LoadShedder {
  readonly #maxRequestsInFlight: number;
  readonly #maxStreams: number;
  #requestsInFlight = 0;
  #streams = 0;
  #isClosing = false;

  constructor({ maxRequestsInFlight, maxStreams }: Pick<HttpBounds, 'maxRequestsInFlight' | 'maxStreams'>) {
    this.#maxRequestsInFlight = maxRequestsInFlight;
    this.#maxStreams = maxStreams;
  }

  /** Whether there is more to do than the listener takes on. */
  get isOverloaded(): boolean {
    return this.#requestsInFlight > this.#maxRequestsInFlight;
  }

  /** Whether the listener is about to end: each answer is then the last of its connection. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  begin(): void {
    this.#requestsInFlight++;
  }

  end(): void {
    this.#requestsInFlight--;
  }

  /** @returns false, and begins nothing, where more streams would be open than may be */
  beginStreams(count: number): boolean {
    if (this.#streams + count > this.#maxStreams) return false;
    this.#streams += count;
    return true;
  }

  endStreams(count: number): void {
    this.#streams -= count;
  }

  beginClosing(): void {
    this.#isClosing = true;
  }
}
