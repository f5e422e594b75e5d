import type { DurationHistogram } from './metrics.ts';

/** A counter or a gauge. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
}

interface Sample {
  /** As in `plan="free",window="day"`, never something that a caller sent. Left out: none. */
  readonly labels?: string;
  readonly value: number;
}

/** Renders a counter or a gauge in Prometheus' text format, version 0.0.4. */
export function renderMetric({ name, type, help }: MetricFamily, samples: Iterable<Sample>): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  for (const { labels, value } of samples) text += `${labels === undefined ? name : `${name}{${labels}}`} ${value}\n`;
  return text;
}

/** As {@link renderMetric}, for histograms by their labels; one without labels has the empty text. */
export function renderHistograms(
  { name, help }: Omit<MetricFamily, 'type'>,
  histograms: Iterable<readonly [labels: string, DurationHistogram]>,
): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`;
  for (const [labels, { bounds, counts, sumSeconds }] of histograms) {
    const braced = labels === '' ? '' : `{${labels}}`;
    const more = labels === '' ? '' : `,${labels}`;
    let count = 0;
    for (const [bucket, bound] of [...bounds, '+Inf'].entries()) {
      count += counts[bucket] ?? 0;
      text += `${name}_bucket{le="${bound}"${more}} ${count}\n`;
    }
    text += `${name}_sum${braced} ${sumSeconds}\n${name}_count${braced} ${count}\n`;
  }
  return text;
}
