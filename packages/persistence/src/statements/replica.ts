export type ReplicaProblem = string;

/** Where long lists are read. */
export type ReplicaState =
  | { readonly readFrom: 'replica' }
  | { readonly readFrom: 'primary'; readonly problem: ReplicaProblem };

/** What became of reading long lists elsewhere than on the primary. */
export interface ReplicaReport {
  readonly state: ReplicaState;
  /** How much of the primary's log it had yet to replay at the last probe; `undefined` where that is not known. */
  readonly lagBytes: number | undefined;
  /** Batches and searches by where they were read. */
  readonly readCounts: Readonly<Record<ReplicaState['readFrom'], number>>;
}
