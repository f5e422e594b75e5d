import { readRateLimitFields, type WindowStatus } from './rate-limit-field.ts';
import { type UsedRequest, WindowBudget } from './window-budget.ts';

/** What is to be known of a request until it is over. */
export interface SpacedRequest {
  readonly cost: number;
  readonly sentMs: number;
  /** Of all that was sent, the cost of what was surely over when this was sent. */
  readonly endedCost: number;
}

/**
 * - `counted`: the service let it in
 * - `refused`: it did not (429), and counted nothing
 * - `unknown`: it may have
 */
export type RequestOutcome = 'counted' | 'refused' | 'unknown';

/** For so long after it was given up a request without an answer may still reach the service. */
const STRAY_MS = 30_000;
/** So many requests in a row without an answer are an outage: they may never have reached the service. */
const OUTAGE_REQUESTS = 5;
/** Through an outage goes one request in such a time. */
const PROBE_INTERVAL_MS = 61_000;

/**
 * Spreads requests over the time that the `RateLimit` headers leave for them, and sends none that might be refused. Until
 * the first answer tells the limits, requests go one at a time.
 *
 * That none is refused from then on holds as long as nobody else uses the key, its plan stays, and no request reaches the
 * service later than 30 s after it was given up; but for one a minute after an outage, see {@link isProbeDue}.
 */
export class RequestSpacing {
  readonly #maxWaitMs: number;
  #budgets: ReadonlyMap<string, WindowBudget> = new Map();
  /** Those over which requests are spread. */
  #spreadBudgets: readonly WindowBudget[] = [];
  /** When the request was sent whose answer told where the key stands. */
  #standingSentMs = Number.NEGATIVE_INFINITY;
  /** When the last request was sent, and its cost. */
  #lastSentMs = Number.NEGATIVE_INFINITY;
  #lastCost = 0;
  /** Of all requests so far; of those that are surely over; of those that have no answer yet. */
  #sentCost = 0;
  #endedCost = 0;
  #inFlightCost = 0;
  #unansweredInARow = 0;
  /** Requests that were given up, and may still be under way until then. */
  readonly #strays: UsedRequest[] = [];

  /** @param maxWaitMs windows that give more only later than this are not spread over: a day would take the day */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** When the next request may go: the present moment, a later one, or infinity where an answer has to come first. */
  earliestMs(cost: number, nowMs: number, inFlight: number): number {
    if (this.#budgets.size === 0) return inFlight > 0 ? Number.POSITIVE_INFINITY : nowMs;
    const charge = this.#chargeOf(cost);
    let earliestMs = nowMs;
    for (const budget of this.#spreadBudgets) {
      earliestMs = Math.max(earliestMs, this.#lastSentMs + budget.durationMs(this.#lastCost));
    }
    for (const budget of this.#budgets.values()) {
      earliestMs = Math.max(earliestMs, budget.earliestMs(charge, nowMs, this.#inFlightCost));
    }
    return earliestMs;
  }

  /**
   * Whether a request may go although there seems to be no room: in an outage requests use up the budget that the service
   * never counted, and only an answer can put it right.
   */
  isProbeDue(nowMs: number): boolean {
    return this.#unansweredInARow >= OUTAGE_REQUESTS && nowMs >= this.#lastSentMs + PROBE_INTERVAL_MS;
  }

  /** Tells that a request goes; one that is free costs 0. */
  begin(cost: number, nowMs: number): SpacedRequest {
    for (; this.#strays[0] !== undefined && this.#strays[0].endedMs <= nowMs; this.#strays.shift()) {
      this.#endedCost += this.#strays[0].cost;
    }
    const charge = this.#chargeOf(cost);
    this.#sentCost += charge;
    this.#inFlightCost += charge;
    for (const budget of this.#budgets.values()) budget.take(charge);
    if (cost > 0) {
      this.#lastSentMs = nowMs;
      this.#lastCost = charge;
    }
    return { cost: charge, sentMs: nowMs, endedCost: this.#endedCost };
  }

  /** Tells what became of a request, with the headers of its answer. */
  end(request: SpacedRequest, outcome: RequestOutcome, headers: Headers | undefined, nowMs: number): void {
    const { cost, sentMs } = request;
    const windows = readRateLimitFields(headers);
    const isTold = windows.length > 0;
    const isNews = isTold && sentMs >= this.#standingSentMs;
    this.#inFlightCost -= cost;
    this.#unansweredInARow = isTold ? 0 : this.#unansweredInARow + 1;
    if (outcome === 'refused') for (const budget of this.#budgets.values()) budget.take(-cost);
    if (isNews) this.#restate(windows, request, nowMs);
    const isSure = isTold && outcome === 'counted';
    const isStray = !isTold && outcome !== 'refused';
    const use = { cost: this.#chargeOf(cost), sentMs, endedMs: isStray ? nowMs + STRAY_MS : nowMs, isSure };
    if (isStray) this.#strays.push(use);
    else this.#endedCost += cost;
    if (outcome === 'refused' || cost === 0) return;
    for (const budget of this.#budgets.values()) budget.recordUse(use, isNews);
  }

  #restate(windows: readonly WindowStatus[], { cost, sentMs, endedCost }: SpacedRequest, nowMs: number): void {
    const reading = { sentMs, nowMs, uncertainCost: this.#sentCost - endedCost - cost };
    const entries = windows.map((window): [string, WindowBudget] => {
      const known = this.#budgets.get(window.name);
      const budget = known ?? new WindowBudget();
      budget.restate(window, reading);
      if (known === undefined) for (const stray of this.#strays) budget.recordUse(stray, false);
      return [window.name, budget];
    });
    this.#budgets = new Map(entries);
    this.#spreadBudgets = windows.flatMap(({ resetMs }, i) =>
      resetMs > this.#maxWaitMs ? [] : (entries[i]?.[1] ?? []),
    );
    this.#standingSentMs = sentMs;
  }

  /** A batch that can never fit is no 429 but an error, which costs 1. */
  #chargeOf(cost: number): number {
    for (const { limit } of this.#budgets.values()) if (cost > limit) return Math.min(cost, 1);
    return cost;
  }
}
