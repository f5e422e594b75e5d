/** A record that was left out, and why. */
export interface RejectedRecord {
  /** As an editor counts. */
  readonly line: number;
  readonly reason: string;
}

/** So many are listed, the first ones of a file: memory must not grow with a file of which every line is wrong. */
export const REJECTED_LISTED_MAX = 1_000;
