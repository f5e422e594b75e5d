import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure } from '../failure.ts';
import type { ServingFacts } from '../operations/operations.ts';
import type { Answers, Instruction, Notice } from './messages.ts';

/** How a process has ended. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Whether it had come to serve. */
  readonly hasServed: boolean;
  /** What it told of itself before. */
  readonly failure?: Failure;
}

export interface ProcessEvents {
  onServing(facts: ServingFacts): void;
  onEnded(end: ProcessEnd): void;
}

/** A database that does not answer takes a process 2 s to call it away. */
const ANSWER_TIMEOUT_MS = 2_500;

/** A process that serves, as its supervisor sees it. */
export class ServerProcess {
  readonly number: number;
  /** Done when the process is no more. */
  readonly ended: Promise<void>;
  readonly #worker: Worker;
  readonly #questions = new Map<number, (answer: Answers[keyof Answers]) => void>();
  #state: 'loading' | 'starting' | 'serving' | 'failed' | 'ended' = 'loading';
  #lastQuestion = 0;
  #failure: Failure | undefined;
  #hasServed = false;

  /**
   * Starts it.
   *
   * @param number 1 or more; one that takes another's place has its number
   * @param environment added to ours
   */
  constructor(number: number, environment: Readonly<Record<string, string>>, events: ProcessEvents) {
    this.number = number;
    cluster.setupPrimary({ args: [`process-${number}`] });
    this.#worker = cluster.fork(environment);
    this.#worker.on('message', (notice: Notice) => this.#hear(notice, events));
    const closeConnectionInHand = watchConnectionInHand(this.#worker.process);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    const end = (exitCode: number | null, signal: string | null) => {
      // One that ends in order hands back what it cannot take any more.
      if (this.#state === 'serving') closeConnectionInHand();
      this.#state = 'ended';
      resolve();
      const failure = this.#failure;
      events.onEnded({ exitCode, signal, hasServed: this.#hasServed, ...(failure && { failure }) });
    };
    this.#worker.once('exit', end);
    this.#worker.on('error', () => {
      // It could not be started; any other error is followed by its end.
      if (this.#worker.process.pid === undefined) end(null, null);
    });
  }

  /** Whether it can be asked nothing yet. */
  get isLoading(): boolean {
    return this.#state === 'loading';
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Whether it gets requests. */
  get isServing(): boolean {
    return this.#state === 'serving';
  }

  /** @returns `undefined` where it is too early or too late to ask, or no answer comes within {@link ANSWER_TIMEOUT_MS} */
  async ask<Question extends keyof Answers>(question: Question): Promise<Answers[Question] | undefined> {
    if (this.#state === 'loading' || this.#state === 'ended') return undefined;
    const id = ++this.#lastQuestion;
    const { promise, resolve } = Promise.withResolvers<Answers[keyof Answers]>();
    this.#questions.set(id, resolve);
    this.#send({ type: 'answer', id, question });
    const timeout = new AbortController();
    const late = sleep(ANSWER_TIMEOUT_MS, undefined, { signal: timeout.signal }).catch(() => {});
    const answer = await Promise.race([promise, this.ended, late]);
    timeout.abort();
    this.#questions.delete(id);
    return answer as Answers[Question] | undefined; // the answer with this id is that to this question
  }

  /** Lets it end in order. */
  stop(): void {
    // Before it hears, it has begun nothing that could be left behind.
    if (this.#state === 'loading') this.kill();
    else this.#send({ type: 'stop' });
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #hear(notice: Notice, { onServing }: ProcessEvents): void {
    switch (notice.type) {
      case 'opened':
        this.#state = 'starting';
        return;
      case 'answered':
        this.#questions.get(notice.id)?.(notice.answer);
        return;
      case 'serving':
        this.#state = 'serving';
        this.#hasServed = true;
        onServing(notice.facts);
        return;
      case 'failed':
        this.#state = 'failed';
        this.#failure = notice.failure;
        return;
      default:
        notice satisfies never;
    }
  }

  /** Where it cannot be sent any more, its end is on the way. */
  #send(instruction: Instruction): void {
    this.#worker.send(instruction, () => {});
  }
}

/**
 * A connection that is being handed over when the process dies is forgotten by node:cluster: nobody would ever answer or
 * close it. One is handed over at a time.
 *
 * @returns closes it
 * @see https://github.com/nodejs/node/issues/21746
 */
function watchConnectionInHand(process: ChildProcess): () => void {
  const send = process.send as (...args: unknown[]) => boolean; // which gets what our callers gave
  let last: { close(): void } | undefined;
  process.send = (...args: unknown[]) => {
    if (args[1] instanceof Object && 'close' in args[1]) last = args[1] as typeof last; // a handle, as only cluster sends
    return send.apply(process, args);
  };
  return () => last?.close(); // which does nothing where it was taken
}
