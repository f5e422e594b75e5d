import type { Observed } from './watched-server.ts';

/** How long a server goes on as it was observed, or how long Prometheus cannot reach it. */
export type Phase = { readonly minutes: number } & (
  | { readonly observed: Observed; readonly growing?: readonly string[] }
  | { readonly isDown: true }
);

/** A server as Prometheus sees it, one phase after the other. */
export interface Timeline {
  readonly instance: string;
  readonly phases: readonly Phase[];
}

export interface InputSeries {
  readonly series: string;
  /** A sample a minute, in promtool's notation. */
  readonly values: string;
}

export const nameOf = (series: string) => series.split('{', 1)[0] ?? '';

/** Adds the labels that Prometheus gives to each series of a target. */
const withTarget = (series: string, instance: string): string => {
  const target = `job="petstore",instance="${instance}"`;
  return series.endsWith('}') ? `${series.slice(0, -1)},${target}}` : `${series}{${target}}`;
};

/** The series as Prometheus 3 stores them, with decimals as the bounds of buckets. */
export const asPrometheus3 = (all: readonly InputSeries[]): readonly InputSeries[] =>
  all.map(({ series, values }) => ({ series: series.replace(/([{,]le="\d+)"/, '$1.0"'), values }));

/** Formats without an exponent, which promtool would misread. */
const plain = (value: number): string => value.toFixed(9).replace(/\.?0+$/, '');

const repeat = (token: string, count: number): string => Array.from({ length: count }, () => token).join(' ');

/** The values of a series, minute by minute. */
class Series {
  readonly #tokens: string[] = [];
  /** The value that a counter has reached. */
  #value: number | undefined;

  get values(): string {
    return this.#tokens.join(' ');
  }

  /** The series is missing for so long. */
  skip(minutes: number): void {
    // Prometheus ends the series of a target at once if it cannot reach it.
    this.#tokens.push(this.#value === undefined ? repeat('_', minutes) : `stale ${repeat('_', minutes - 1)}`.trim());
    this.#value = undefined;
  }

  add(minutes: number, first: number, stepPerMinute: number): void {
    this.#value = first + stepPerMinute * minutes;
    if (Number.isNaN(first)) this.#tokens.push(repeat('NaN', minutes));
    else if (minutes === 1) this.#tokens.push(plain(first));
    else {
      const sign = stepPerMinute < 0 ? '-' : '+';
      this.#tokens.push(`${plain(first)}${sign}${plain(Math.abs(stepPerMinute))}x${minutes - 1}`);
    }
  }

  /** @param isNew whether the process has just been started */
  rise(minutes: number, from: number, perMinute: number, isNew: boolean): void {
    this.add(minutes, isNew ? from : (this.#value ?? from), perMinute);
  }
}

/**
 * The series that Prometheus would have scraped once a minute, had each server gone on as it was observed: counters rise
 * as fast as they did, and all other values stay as they were last.
 *
 * @param isWanted selects the series that rules read, which are few
 */
export function extrapolate(
  timelines: readonly Timeline[],
  isWanted: (series: string) => boolean,
): readonly InputSeries[] {
  return timelines.flatMap(({ instance, phases }) => {
    const startMs = Math.min(...phases.flatMap((phase) => ('observed' in phase ? [phase.observed.from.atMs] : [])));
    const observed = phases.flatMap((phase) => ('observed' in phase ? [phase.observed] : []));
    const names = new Set(observed.flatMap(({ from, to }) => [...from.values.keys(), ...to.values.keys()]));
    const all = [...names].filter(isWanted);
    const lines = all.map((series) => ({
      series: withTarget(series, instance),
      values: follow(series, phases, startMs),
    }));
    return [{ series: withTarget('up', instance), values: upOf(phases) }, ...lines];
  });
}

const upOf = (phases: readonly Phase[]): string =>
  phases.map((phase) => repeat('isDown' in phase ? '0' : '1', phase.minutes)).join(' ');

const STARTED_AT = 'process_start_time_seconds';

function follow(series: string, phases: readonly Phase[], startMs: number): string {
  const line = new Series();
  const name = nameOf(series);
  let startedAt: number | undefined;
  for (const phase of phases) {
    const { minutes } = phase;
    if ('isDown' in phase) {
      line.skip(minutes);
      continue;
    }
    const { from, to } = phase.observed;
    const [first, last] = [from.values.get(series), to.values.get(series)];
    const isNew = startedAt !== to.values.get(STARTED_AT);
    startedAt = to.values.get(STARTED_AT);
    if (last === undefined) line.skip(minutes);
    else {
      const perMinute = ((last - (first ?? 0)) / (to.atMs - from.atMs)) * 60_000;
      // Time begins in 1970 in promtool's tests.
      if (/_(?:timestamp|start_time)_seconds$/.test(name)) line.add(minutes, last - startMs / 1_000, 0);
      else if (to.risingNames.has(name)) line.rise(minutes, first ?? 0, perMinute, isNew);
      else line.add(minutes, last, phase.growing?.includes(name) ? perMinute : 0);
    }
  }
  return line.values;
}
