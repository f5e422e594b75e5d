/** The values of a server's /metrics at one moment. */
export interface Scrape {
  readonly atMs: number;
  /** By name and labels, as in `name{label="value"}`. */
  readonly values: ReadonlyMap<string, number>;
  /** The names of series that only rise: counters, and those of histograms. */
  readonly risingNames: ReadonlySet<string>;
}

/** Two moments of the same server. What happened between them is taken to go on. */
export interface Observed {
  readonly from: Scrape;
  readonly to: Scrape;
}

const SAMPLE = /^([a-z_]\w*(?:\{.*\})?) (\S+)$/gm;
const TYPE = /^# TYPE (\w+) (\w+)$/gm;
const VALUES: Readonly<Record<string, number>> = { NaN: Number.NaN, '+Inf': Number.POSITIVE_INFINITY };

export async function scrape(adminUrl: string): Promise<Scrape> {
  const response = await fetch(`${adminUrl}/metrics`);
  const text = await response.text();
  const values = Array.from(text.matchAll(SAMPLE), ([, name = '', value = '']) => {
    return [name, VALUES[value] ?? Number(value)] as const;
  });
  const risingNames = Array.from(text.matchAll(TYPE)).flatMap(([, name = '', type = '']) => {
    if (type === 'counter') return [name];
    return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [];
  });
  return { atMs: Date.now(), values: new Map(values), risingNames: new Set(risingNames) };
}
