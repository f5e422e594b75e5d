/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const METRIC = 'petstore_http_request_duration_seconds';

const DEPRECATED_USE = 'petstore_deprecated_requests_total';
/** How many keys have a series of their own for each deprecated operation. */
const KEYS_MAX = 1_000;
/** The label of all further keys. No key id is so short. */
const OTHER_KEYS = 'other';

/** The responses of one operation with one status, and how long they took. */
interface Series {
  /** Not cumulative; the last one is for what is above all bounds. */
  readonly counts: number[];
  sumSeconds: number;
}

/**
 * Counts served requests by operation and status, and those of deprecated operations by key.
 *
 * prom-client's own histogram builds and hashes an object of labels for every observation; this one is on the path of
 * every request, so it only adds numbers; the text is made at a scrape.
 */
export class RequestMetrics {
  readonly #series = new Map<string, Map<number, Series>>();
  readonly #deprecatedUse = new Map<string, Map<string, number>>();

  /** @param operation one of a closed set of names, never something that a caller sent */
  observeRequest(operation: string, status: number, durationSeconds: number): void {
    const series = this.#seriesOf(operation, status);
    let bucket = 0;
    while (durationSeconds > (BUCKET_BOUNDS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sumSeconds += durationSeconds;
  }

  /**
   * Shows which callers still use what is to end.
   *
   * @param keyId the public id of a key that exists: nothing that a caller made up. Left out: no valid key
   */
  observeDeprecatedUse(operation: string, keyId = ''): void {
    let byKey = this.#deprecatedUse.get(operation);
    if (byKey === undefined) {
      byKey = new Map();
      this.#deprecatedUse.set(operation, byKey);
    }
    const key = keyId === '' || byKey.has(keyId) || byKey.size < KEYS_MAX ? keyId : OTHER_KEYS;
    byKey.set(key, (byKey.get(key) ?? 0) + 1);
  }

  #seriesOf(operation: string, status: number): Series {
    let byStatus = this.#series.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#series.set(operation, byStatus);
    }
    let series = byStatus.get(status);
    if (series === undefined) {
      series = { counts: Array.from({ length: BUCKET_BOUNDS.length + 1 }, () => 0), sumSeconds: 0 };
      byStatus.set(status, series);
    }
    return series;
  }

  /** Prometheus' text format, version 0.0.4. */
  render(): string {
    const lines = [`# HELP ${METRIC} Requests served, and the duration of each.`, `# TYPE ${METRIC} histogram`];
    for (const [operation, byStatus] of this.#series) {
      for (const [status, { counts, sumSeconds }] of byStatus) {
        const labels = `operation="${operation}",status="${status}"`;
        let count = 0;
        for (const [bucket, bound] of [...BUCKET_BOUNDS, '+Inf'].entries()) {
          count += counts[bucket] ?? 0;
          lines.push(`${METRIC}_bucket{le="${bound}",${labels}} ${count}`);
        }
        lines.push(`${METRIC}_sum{${labels}} ${sumSeconds}`, `${METRIC}_count{${labels}} ${count}`);
      }
    }
    lines.push(
      `# HELP ${DEPRECATED_USE} Requests to deprecated operations, by the id of the key; none: no valid key.`,
      `# TYPE ${DEPRECATED_USE} counter`,
    );
    for (const [operation, byKey] of this.#deprecatedUse) {
      for (const [key, count] of byKey) {
        lines.push(`${DEPRECATED_USE}{operation="${operation}",key="${key}"} ${count}`);
      }
    }
    return `${lines.join('\n')}\n`;
  }
}
