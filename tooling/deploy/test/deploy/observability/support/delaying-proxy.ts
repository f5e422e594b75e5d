import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A proxy in front of a server on this machine. It runs in a thread of its own, so that nothing else delays it. */
export class DelayingProxy implements AsyncDisposable {
  readonly url: string;
  readonly #worker: Worker;

  private constructor(url: string, worker: Worker) {
    this.url = url;
    this.#worker = worker;
  }

  /** @param target the URL of the server */
  static async to(target: string): Promise<DelayingProxy> {
    const url = new URL(target);
    const worker = new Worker(new URL('./delaying-proxy-worker.ts', import.meta.url), { workerData: Number(url.port) });
    const [port] = await once(worker, 'message');
    url.port = String(port);
    return new DelayingProxy(url.href, worker);
  }

  /** Delays what the server sends from now on. */
  delay(ms: number): void {
    this.#worker.postMessage(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
