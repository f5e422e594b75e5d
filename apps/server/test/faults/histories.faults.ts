import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient, type PetstoreClient } from '@petstore/client';
import type { OrderEventType } from '@petstore/domain';
import { afterAll, expect, test } from 'vitest';
import { KEYS } from '../support/database.ts';
import { findFalseEvents } from './support/check-events.ts';
import { checkOrders } from './support/check-orders.ts';
import { CALLS, type CallName, createRecordedClient, type SentCall, sendCall } from './support/client-calls.ts';
import { FAULTS, type FaultName, faultsInTurn } from './support/faults.ts';
import { type OrderCall, type OrderHistory, type OrderOperation, sightingsIn } from './support/order-history.ts';
import { SeededRandom } from './support/seeded-random.ts';
import { type RecordedEvent, readStored, type Stored, wholeOrderOf } from './support/stored-order.ts';
import { startTestedService, type TestedService } from './support/tested-service.ts';

const SECONDS = readNumber('PETSTORE_FAULTS_SECONDS') ?? 40;
const SEED = readNumber('PETSTORE_FAULTS_SEED') ?? randomInt(2 ** 31);

/** A longer run is one of several rounds, each with a seed of its own, so that each can be replayed by itself. */
const ROUND_SECONDS_MAX = 60;

/** One lost commit may contradict many responses. */
const FINDINGS_SHOWN = 20;

function readNumber(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new RangeError(`${name} is ${text}, and must be a whole number from 1 on`);
  return Number(text);
}

const roundCount = Math.ceil(SECONDS / ROUND_SECONDS_MAX);
const seconds = Math.ceil(SECONDS / roundCount);
const summaries: string[] = [];

afterAll(() => {
  console.log(summaries.join('\n'));
});

test.for(Array.from({ length: roundCount }, (_, i) => SEED + i))(
  'what callers see while servers and PostgreSQL fail is explained by an order of single steps (seed %i)',
  async (seed) => {
    const { summary, findings } = await runRound({ seed, seconds });
    summaries.push(summary);
    const more = findings.length > FINDINGS_SHOWN ? [`and ${findings.length - FINDINGS_SHOWN} more`] : [];
    const shown = [summary, ...findings.slice(0, FINDINGS_SHOWN), ...more].join('\n\n');
    const replay = `PETSTORE_FAULTS_SEED=${seed} PETSTORE_FAULTS_SECONDS=${seconds} pnpm test:faults`;
    // Not by comparison, which would print all of them once more.
    if (findings.length > 0) expect.fail(`${shown}\n\nThe same choices again: ${replay}`);
  },
);

const CALLER_COUNT = 6;
const CONSUMER_COUNT = 3;

/** Pets of generated orders have smaller ids. */
const FIRST_PET = 1_000_000n;

/** Orders that were placed last, which many callers want at the same time. */
const WANTED_COUNT = 8;

interface RoundOptions {
  readonly seed: number;
  /** For how long calls are made while things go wrong. */
  readonly seconds: number;
}

/** What a round was, and what the checker says of it. */
interface RoundReport {
  readonly summary: string;
  readonly findings: readonly string[];
}

/**
 * Lets callers use a service while things go wrong, and checks what they saw. All choices come from the seed, each
 * caller's from a sequence of its own; what they meet depends on the time as well.
 */
async function runRound({ seed, seconds }: RoundOptions): Promise<RoundReport> {
  await using service = await startTestedService();
  const recorder = new Recorder(service);
  const endMs = performance.now() + seconds * 1_000;
  const consumers = new Map(
    Array.from({ length: CONSUMER_COUNT }, (_, i) => {
      const name = `consumer ${i + 1}`;
      return [name, new Consumer(service, new SeededRandom(seed, name))];
    }),
  );
  const callers = Array.from({ length: CALLER_COUNT }, (_, i) => recorder.callUntil(endMs, seed, `client ${i + 1}`));
  const faults = await makeFaults(service, seed, endMs);
  await Promise.all(callers);
  await recorder.readAll();
  const stored = await readStored(service.postgres.url);
  const verdict = checkOrders(recorder.history, stored.orders);
  const events = await checkEvents(stored, consumers);
  const findings = [...recorder.wrong, ...verdict.findings, ...events.findings];
  const lines = [
    `seed ${seed}, ${seconds} s, ${service.servers.length} servers, ${CALLER_COUNT} clients`,
    `  calls: ${listCounts(recorder.sent)}; without a response: ${listCounts(recorder.lost) || 'none'}`,
    `  events: ${events.summary}`,
    `  faults: ${listCounts(faults) || 'none'}`,
    `  longest call ${(recorder.longestMs / 1_000).toFixed(1)} s; ${verdict.orderCount} orders, ${findings.length === 0 ? 'all explained' : `${findings.length} findings`}`,
  ];
  return { summary: lines.join('\n'), findings };
}

/** Waits until all consumers have received the last change, and compares their events with the log and the orders. */
async function checkEvents({ log, orders }: Stored, consumers: ReadonlyMap<string, Consumer>) {
  const lastId = log.at(-1)?.id ?? 0n;
  await Promise.all([...consumers.values()].map((consumer) => consumer.finish(lastId)));
  const all = [...consumers];
  const received = new Map(all.map(([name, { events }]) => [name, events]));
  const isOnlyOnce = (petId: bigint) => petId >= FIRST_PET;
  const findings = [
    ...all.flatMap(([name, { wrong }]) => wrong.map((error) => `${name}: ${error}`)),
    ...findFalseEvents({ received, log, orders, isOnlyOnce }),
  ];
  const lives = all.map(([, consumer]) => consumer.lives);
  return { summary: `${log.length}, each received by ${all.length} consumers in ${lives.join(', ')} lives`, findings };
}

async function makeFaults(service: TestedService, seed: number, endMs: number): Promise<Map<FaultName, number>> {
  const random = new SeededRandom(seed, 'faults');
  const turns = faultsInTurn(random);
  const counts = new Map<FaultName, number>();
  for (;;) {
    const pauseMs = random.between(300, 2_500);
    if (performance.now() + pauseMs >= endMs) return counts;
    await sleep(pauseMs);
    const name = turns.next().value;
    await FAULTS[name].run(service, random);
    count(counts, name);
  }
}

function count<Name extends string>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

const listCounts = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, times]) => `${times} ${name}`)
    .join(', ');

/** Makes calls, and keeps what came of them. */
class Recorder {
  readonly #service: TestedService;
  readonly #operations: OrderOperation[] = [];
  readonly #wanted: bigint[] = [];
  readonly #clients = new Map<string, PetstoreClient>();
  readonly sent = new Map<CallName, number>();
  readonly lost = new Map<CallName, number>();
  /** Errors that no fault explains. */
  readonly wrong: string[] = [];
  longestMs = 0;
  #petCount = 0n;

  constructor(service: TestedService) {
    this.#service = service;
  }

  get history(): OrderHistory {
    return { originMs: performance.timeOrigin, initial: this.#service.initial, operations: this.#operations };
  }

  async callUntil(endMs: number, seed: number, caller: string): Promise<void> {
    const random = new SeededRandom(seed, caller);
    const chooser = { random, order: () => this.#chooseOrder(random), newPet: () => FIRST_PET + this.#petCount++ };
    while (performance.now() < endMs) {
      const name = random.weighted(CALLS);
      const server = random.pick(this.#service.servers);
      const pauseMs = random.between(0, 50);
      const sent = await this.#call({ name, call: CALLS[name].choose(chooser), caller }, server, random);
      // A server that is not there responds at once.
      await sleep(sent.type === 'not executed' ? pauseMs + 100 : pauseMs);
    }
  }

  /** Shows what is left when all is well again: at each server. */
  async readAll(): Promise<void> {
    for (const server of this.#service.servers) {
      for (let attempts = 1; ; attempts++) {
        const call = { name: 'list', call: { type: 'list' }, caller: 'at the end' } as const;
        const sent = await this.#call(call, server, new SeededRandom(attempts, server.name));
        const outcome = sent.type === 'recorded' ? sent.operation.response?.outcome : undefined;
        if (outcome?.type === 'listed' && outcome.isWhole) break;
        if (attempts === 100) throw new Error(`${server.name} does not list its orders, although all is well again`);
        await sleep(300);
      }
    }
  }

  async #call(
    { name, call, caller }: { readonly name: CallName; readonly call: OrderCall; readonly caller: string },
    { name: serverName, url }: TestedService['servers'][number],
    random: SeededRandom,
  ): Promise<SentCall> {
    const another = () => this.#clientOf(random.pick(this.#service.servers).url);
    const sentMs = performance.now();
    const sent = await sendCall(this.#clientOf(url), { name, call, caller: `${caller}, ${serverName}`, another });
    this.longestMs = Math.max(this.longestMs, performance.now() - sentMs);
    if (sent.type === 'not executed') return sent;
    count(this.sent, name);
    if (sent.operation.response === undefined) count(this.lost, name);
    this.#operations.push(sent.operation);
    if (call.type === 'place') this.#wanted.push(...sightingsIn(sent.operation).map(({ orderId }) => orderId));
    if (sent.type === 'wrong') this.wrong.push(sent.error);
    return sent;
  }

  #clientOf(url: string): PetstoreClient {
    const client = this.#clients.get(url) ?? createRecordedClient(url, KEYS.internal.text);
    this.#clients.set(url, client);
    return client;
  }

  /** Mostly one of those that were placed last; else one beside a seam of a list, or any that was placed. */
  #chooseOrder(random: SeededRandom): bigint {
    const [kind, which] = [random.next(), random.next()];
    const { initial } = this.#service;
    const atSeams = [...initial.slice(245, 256), ...initial.slice(4_245, 4_256)].map(({ orderId }) => orderId);
    const recent = this.#wanted.slice(-WANTED_COUNT);
    const choices = kind < 0.8 ? recent : kind < 0.9 ? atSeams : this.#wanted;
    return choices[Math.floor(which * choices.length)] ?? atSeams[0] ?? 1n;
  }
}

/** For how long a consumer runs before it is killed, in milliseconds. */
const LIFE_MS = [200, 4_000] as const;

/** How often one that was given an event is busy for a while. */
const BUSY = 0.002;

/** How soon all have to receive the last event when all faults have ended, in milliseconds. */
const CATCH_UP_MS = 30_000;

/** Follows all events from the beginning, is killed again and again, and goes on where it was, at any server. */
class Consumer {
  readonly #service: TestedService;
  readonly #random: SeededRandom;
  readonly #caughtUp = new AbortController();
  readonly #following: Promise<void>;
  #lastId: bigint | undefined;
  /** What it was given, over all its lives. */
  readonly events: RecordedEvent[] = [];
  /** Errors that no fault explains. */
  readonly wrong: string[] = [];
  lives = 0;

  constructor(service: TestedService, random: SeededRandom) {
    this.#service = service;
    this.#random = random;
    this.#following = this.#follow();
  }

  /**
   * Lets it go on until it has received an event.
   *
   * @throws Error where that takes long
   */
  async finish(lastId: bigint): Promise<void> {
    this.#lastId = lastId;
    if (this.#isAt(lastId)) this.#caughtUp.abort();
    const tooLate = sleep(CATCH_UP_MS, 'too late', { ref: false });
    const first = await Promise.race([this.#following, tooLate]);
    this.#caughtUp.abort();
    await this.#following;
    if (first === 'too late') this.wrong.push(`it did not receive event ${lastId} within ${CATCH_UP_MS} ms`);
  }

  #isAt(id: bigint | undefined): boolean {
    return id !== undefined && (this.events.at(-1)?.id ?? 0n) >= id;
  }

  async #follow(): Promise<void> {
    const { signal: caughtUp } = this.#caughtUp;
    while (!caughtUp.aborted) {
      this.lives++;
      const death = AbortSignal.timeout(Math.round(this.#random.between(...LIFE_MS)));
      await this.#live(AbortSignal.any([death, caughtUp]));
    }
  }

  async #live(signal: AbortSignal): Promise<void> {
    const { url: baseUrl } = this.#random.pick(this.#service.servers);
    const client = createPetstoreClient({ baseUrl, apiKey: KEYS.internal.text });
    const after = String(this.events.at(-1)?.id ?? 0);
    try {
      for await (const { id, type, order } of client.events({ after, signal })) {
        this.events.push({ id: BigInt(id), type: type as OrderEventType, order: wholeOrderOf(order) }); // of one release
        if (this.#isAt(this.#lastId)) this.#caughtUp.abort();
        if (this.#random.next() < BUSY) await sleep(this.#random.between(0, 300));
      }
    } catch (error) {
      if (signal.aborted) return;
      this.wrong.push(`behind event ${after}: ${error}`);
      await sleep(200);
    }
  }
}
