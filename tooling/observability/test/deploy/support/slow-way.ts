import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A way to a server on this machine that can be made longer. It has a thread of its own, which nothing else delays. */
export class SlowWay implements AsyncDisposable {
  readonly url: string;
  readonly #worker: Worker;

  private constructor(url: string, worker: Worker) {
    this.url = url;
    this.#worker = worker;
  }

  /** @param target the URL of the server */
  static async to(target: string): Promise<SlowWay> {
    const url = new URL(target);
    const worker = new Worker(new URL('./slow-way-worker.ts', import.meta.url), { workerData: Number(url.port) });
    const [port] = await once(worker, 'message');
    url.port = String(port);
    return new SlowWay(url.href, worker);
  }

  /** From now on what the server responds arrives so much later, in milliseconds. */
  delay(ms: number): void {
    this.#worker.postMessage(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
