import type { HttpBounds } from './app-options.ts';

/** What the listener has to do at the moment, and the bounds of it. */
export class Load {
  readonly #maxRequestsInFlight: number;
  readonly #maxStreams: number;
  #requestsInFlight = 0;
  #streams = 0;
  #isClosing = false;

  constructor({ maxRequestsInFlight, maxStreams }: Pick<HttpBounds, 'maxRequestsInFlight' | 'maxStreams'>) {
    this.#maxRequestsInFlight = maxRequestsInFlight;
    this.#maxStreams = maxStreams;
  }

  /** Requests that were begun and not answered; answers that are being sent in pieces do not count. */
  get requestsInFlight(): number {
    return this.#requestsInFlight - this.#streams;
  }

  /** Whether there is more to do than the listener takes on. */
  get isOverloaded(): boolean {
    return this.requestsInFlight > this.#maxRequestsInFlight;
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

  /** @returns false, and begins nothing, where as many streams are open as may be */
  beginStream(): boolean {
    if (this.#streams >= this.#maxStreams) return false;
    this.#streams++;
    return true;
  }

  endStream(): void {
    this.#streams--;
  }

  beginClosing(): void {
    this.#isClosing = true;
  }
}
