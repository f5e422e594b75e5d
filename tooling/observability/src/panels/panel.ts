import { quantile, series } from '../queries.ts';

export interface Query {
  readonly expression: string;
  /** With labels as in `{{operation}}`. */
  readonly legend: string;
}

/** What a panel shows. Its place follows from its size and those before it. */
export interface Panel {
  readonly title: string;
  /** What a reader cannot know from the title. */
  readonly description: string;
  readonly kind: 'timeseries' | 'stat' | 'state-timeline' | 'table';
  /** Of 24 columns. */
  readonly width: number;
  /** Grafana's id of the unit. */
  readonly unit: string;
  readonly queries: readonly Query[];
  readonly isStacked?: boolean;
  /** A line, above which it is red. */
  readonly limit?: number;
  /** What values are called. */
  readonly names?: Readonly<Record<string, string>>;
  /** The most that can be. */
  readonly max?: number;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export const shown = (...by: readonly string[]) => ({ scope: 'shown', window: '$__rate_interval', by }) as const;
export const own = (metric: string, labels?: string) => series('shown', metric, labels);
export const perServer = (metric: string, labels?: string): Query => ({
  expression: own(metric, labels),
  legend: '{{instance}}',
});
export const percentiles = (metric: string): readonly Query[] =>
  [0.5, 0.95, 0.99].map((share) => ({
    expression: quantile(share, metric, '', shown()),
    legend: `p${share * 100}`,
  }));
