import type { ApiKeyId } from '@petstore/domain';
import { PLAN_LIMITS, type RequestLimits } from '@petstore/domain';
import { type ApiKeySubject, apiKeySubject } from '../src/index.ts';
import { NO_PENALTY } from '../src/penalty.ts';
import type { SubjectState } from '../src/subject-state.ts';
import { DAY_WINDOW, EMPTY_LOG, MINUTE_WINDOW, type WindowLog, type WindowSpec } from '../src/window-log.ts';

/** One key of a population, and how often it comes. */
export interface Member {
  readonly subject: ApiKeySubject;
  readonly requestsPerSecond: number;
}

/**
 * Keys as a service has them: how often the k-th of them comes falls as 1/k (Zipf), but nobody passes the day of the
 * plan for long. The first 2 % have the business plan, the next 8 % pro, the others are free.
 */
export function makePopulation(count: number, requestsPerSecondEach: number): Member[] {
  let harmonic = 0;
  for (let k = 1; k <= count; k++) harmonic += 1 / k;
  return Array.from({ length: count }, (_, i) => {
    const limits: RequestLimits =
      i < count * 0.02 ? PLAN_LIMITS.business : i < count * 0.1 ? PLAN_LIMITS.pro : PLAN_LIMITS.free;
    const wanted = (count * requestsPerSecondEach) / harmonic / (i + 1);
    const id = i.toString(36).padStart(8, '0') as ApiKeyId; // of this measurement
    return { subject: apiKeySubject(id, limits), requestsPerSecond: Math.min(wanted, limits.perDay / 86_400) };
  });
}

/** What a key's state is after a day: its requests come at random times, evenly. */
export function stateAfterADay({ subject, requestsPerSecond }: Member, nowMs: number): SubjectState {
  return {
    atMs: nowMs,
    minute: randomLog(MINUTE_WINDOW, requestsPerSecond, subject.perMinute, nowMs),
    day: randomLog(DAY_WINDOW, requestsPerSecond, subject.perDay, nowMs),
    penalty: NO_PENALTY,
  };
}

function randomLog(
  { lengthMs, quantumMs }: WindowSpec,
  requestsPerSecond: number,
  limit: number,
  nowMs: number,
): WindowLog {
  const perQuantum = (requestsPerSecond * quantumMs) / 1000;
  const isHit = 1 - Math.exp(-perQuantum);
  const count = Math.max(1, Math.round(perQuantum / isHit));
  const closed: number[] = [];
  let total = 0;
  for (let atMs = nowMs - lengthMs + quantumMs; atMs < nowMs; atMs += quantumMs) {
    if (Math.random() >= isHit || total + count > limit) continue;
    closed.push(atMs, count);
    total += count;
  }
  const openCount = closed.pop();
  const openLastMs = closed.pop();
  if (openCount === undefined || openLastMs === undefined) return EMPTY_LOG;
  return { closed, openBeginMs: openLastMs, openLastMs, openCount, total };
}

/** Draws members as often as they come. */
export function drawer(population: readonly Member[]): () => Member {
  const sums = new Float64Array(population.length);
  let sum = 0;
  for (const [i, { requestsPerSecond }] of population.entries()) {
    sum += requestsPerSecond;
    sums[i] = sum;
  }
  return () => {
    const wanted = Math.random() * sum;
    let [low, high] = [0, population.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    const member = population[low];
    if (member === undefined) throw new Error('nobody to draw from');
    return member;
  };
}
