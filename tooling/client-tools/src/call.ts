/** What a program of `programs` gives: the same two operations, whatever makes the calls. */
export interface Caller {
  list(): Promise<{ readonly orders: readonly ListedOrder[]; readonly remaining: string | null }>;
  cancel(orderId: never): Promise<CancelResult>;
}

interface ListedOrder {
  readonly id?: unknown;
  readonly quantity?: number;
}

interface CancelResult {
  readonly status?: number;
  readonly code?: string;
}

/** Where a program calls, and as whom. */
export interface Settings {
  readonly baseUrl: string;
  readonly documentUrl: string;
  readonly apiKey: string;
}

/** What was called, and the response. */
export type Call =
  | { readonly failed: string }
  | {
      /** The header X-RateLimit-Remaining, as far as the caller sees it. */
      readonly remaining: string | null;
      readonly small: CancelResult;
      /** The small one once more. */
      readonly again: CancelResult;
      readonly large: CancelResult;
    };
