/** One figure of a table. */
export interface Column {
  readonly key: string;
  readonly label: string;
  /** Digits after the point. */
  readonly digits: number;
  readonly better: 'higher' | 'lower';
}

/** The values of each figure, one for each round. Figures that this machine does not tell are missing. */
export type Samples = Readonly<Record<string, readonly number[]>>;

interface Row {
  readonly name: string;
  readonly samples: Samples;
}

/** What one scenario has found out about two things that do the same. */
export interface Result {
  readonly title: string;
  /** Results that share their columns stand in one table. */
  readonly columns: readonly Column[];
  readonly subject: Row;
  /** What the subject is compared with. */
  readonly base: Row;
  /** Keys of the columns that are drawn; none where the base is not the baseline. */
  readonly drawn: readonly string[];
}

/** Collects the samples of one row. */
export class SampleCollector {
  readonly samples: Record<string, number[]> = {};

  add(values: Readonly<Record<string, number | undefined>>): void {
    for (const [key, value] of Object.entries(values)) {
      if (value === undefined) continue;
      this.samples[key] ??= [];
      this.samples[key].push(value);
    }
  }
}
