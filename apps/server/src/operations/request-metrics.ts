import { DurationHistogram, renderMetric } from './exposition.ts';

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const METRIC = 'petstore_http_request_duration_seconds';

const DEPRECATED_USE = {
  name: 'petstore_deprecated_requests_total',
  type: 'counter',
  help: 'Requests to deprecated operations, by the id of the key; none: no valid key.',
} as const;
/** How many keys have a series of their own for each deprecated operation. */
const KEYS_MAX = 1_000;
/** The label of all further keys. No key id is so short. */
const OTHER_KEYS = 'other';

/**
 * Counts served requests by operation and status, and those of deprecated operations by key.
 *
 * prom-client's own histogram builds and hashes an object of labels for every observation; this one is on the path of
 * every request, so it only adds numbers; the text is made at a scrape.
 */
export class RequestMetrics {
  readonly #durations = new Map<string, Map<number, DurationHistogram>>();
  readonly #deprecatedUse = new Map<string, Map<string, number>>();

  /** @param operation one of a closed set of names, never something that a caller sent */
  observeRequest(operation: string, status: number, durationSeconds: number): void {
    let byStatus = this.#durations.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#durations.set(operation, byStatus);
    }
    let durations = byStatus.get(status);
    if (durations === undefined) {
      durations = new DurationHistogram(BUCKET_BOUNDS);
      byStatus.set(status, durations);
    }
    durations.observe(durationSeconds);
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

  /** Prometheus' text format, version 0.0.4. */
  render(): string {
    let text = `# HELP ${METRIC} Requests served, and the duration of each.\n# TYPE ${METRIC} histogram\n`;
    for (const [operation, byStatus] of this.#durations) {
      for (const [status, durations] of byStatus) {
        text += durations.render(METRIC, `operation="${operation}",status="${status}"`);
      }
    }
    return text + renderMetric(DEPRECATED_USE, this.#deprecatedUseSamples());
  }

  *#deprecatedUseSamples() {
    for (const [operation, byKey] of this.#deprecatedUse) {
      for (const [key, value] of byKey) yield { labels: `operation="${operation}",key="${key}"`, value };
    }
  }
}
