import type pg from 'pg';
import type { ImportedEvents } from './imported-events.ts';

/** Ids that nothing but the import uses, from before they are inserted. */
export interface IdReservation {
  include(ids: Iterable<bigint>): Promise<void>;
  release(outcome: { readonly isImported: boolean }): Promise<void>;
}

/** How records go into a table. */
export interface ImportTarget<Value> {
  readonly table: string;
  /** What one is called, as in "an order with the id 5 exists already". */
  readonly noun: string;
  /** In the order of {@link rowOf}; the first one is `id`. */
  readonly columns: readonly string[];
  readonly idOf: (value: Value) => bigint;
  /** Keeps apart from the import whatever else brings ids. */
  readonly reserveIds: (client: pg.Client) => IdReservation;
  /** Begins to record the import in the log of events; left out for what has no events. */
  readonly beginEvents?: (client: pg.Client) => Promise<ImportedEvents>;
  /** As COPY reads it, with its line end. */
  readonly rowOf: (value: Value) => string;
}
