/** A sample of a metric. */
interface Sample {
  /** As in `plan="free",window="day"`. Never something that a caller sent. Left out: none. */
  readonly labels?: string;
  readonly value: number;
}

/** Renders a counter or a gauge in Prometheus' text format, version 0.0.4. */
export function renderMetric(
  { name, type, help }: { readonly name: string; readonly type: 'counter' | 'gauge'; readonly help: string },
  samples: Iterable<Sample>,
): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  for (const { labels, value } of samples) text += `${labels === undefined ? name : `${name}{${labels}}`} ${value}\n`;
  return text;
}

/** How long things took, by buckets. An observation adds to two numbers. */
export class DurationHistogram {
  /** Upper bounds of the buckets, in seconds, ascending. */
  readonly #bounds: readonly number[];
  /** Not cumulative; the last one is for what is above all bounds. */
  readonly #counts: number[];
  #sumSeconds = 0;

  constructor(boundsSeconds: readonly number[]) {
    this.#bounds = boundsSeconds;
    this.#counts = Array.from({ length: boundsSeconds.length + 1 }, () => 0);
  }

  observe(durationSeconds: number): void {
    let bucket = 0;
    while (durationSeconds > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sumSeconds += durationSeconds;
  }

  /** Its lines, without HELP and TYPE. */
  render(name: string, labels?: string): string {
    const braced = labels === undefined ? '' : `{${labels}}`;
    const more = labels === undefined ? '' : `,${labels}`;
    let text = '';
    let count = 0;
    for (const [bucket, bound] of [...this.#bounds, '+Inf'].entries()) {
      count += this.#counts[bucket] ?? 0;
      text += `${name}_bucket{le="${bound}"${more}} ${count}\n`;
    }
    return `${text}${name}_sum${braced} ${this.#sumSeconds}\n${name}_count${braced} ${count}\n`;
  }
}
