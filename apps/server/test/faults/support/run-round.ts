import { setTimeout as sleep } from 'node:timers/promises';
import type { PetstoreClient } from '@petstore/client';
import { KEYS } from '../../support/database.ts';
import { findFalseEvents } from './check-events.ts';
import { checkOrders } from './check-orders.ts';
import { CALLS, type CallName, createRecordedClient, type SentCall, sendCall } from './client-calls.ts';
import { Consumer } from './consumer.ts';
import { FAULTS, type FaultName, faultsInTurn } from './faults.ts';
import { type OrderCall, type OrderHistory, type OrderOperation, sightingsIn } from './order-history.ts';
import { SeededRandom } from './seeded-random.ts';
import { readStored, type Stored } from './stored-order.ts';
import { startTestedService, type TestedService } from './tested-service.ts';

const CALLER_COUNT = 6;
const CONSUMER_COUNT = 3;

/** Pets of generated orders have smaller ids. */
const FIRST_PET = 1_000_000n;

/** Orders that were placed last, which many callers want at the same time. */
const WANTED_COUNT = 8;

export interface RoundOptions {
  readonly seed: number;
  /** For how long calls are made while things go wrong. */
  readonly seconds: number;
}

/** What a round was, and what the checker says of it. */
export interface RoundReport {
  readonly summary: string;
  readonly findings: readonly string[];
}

/**
 * Lets callers use a service while things go wrong, and checks what they saw. All choices come from the seed, each
 * caller's from a sequence of its own; what they meet depends on the time as well.
 */
export async function runRound({ seed, seconds }: RoundOptions): Promise<RoundReport> {
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
