/** An order that the service has when it begins. */
export interface TestOrder {
  /** Any 64-bit integer that no other order has. */
  readonly id: bigint;
  /** Any 64-bit integer. @default 1n */
  readonly petId?: bigint;
  /** 1 to 2,147,483,647. @default 1 */
  readonly quantity?: number;
  /** @default not known */
  readonly shipDate?: Date;
  /** @default 'shipped' if the order is complete, otherwise 'pending' */
  readonly status?: 'pending' | 'shipped' | 'cancelled';
  /** Only shipped orders can be complete. @default false */
  readonly complete?: boolean;
}

export interface TestServiceOptions {
  /** @default none */
  readonly orders?: readonly TestOrder[];
  /** The clock of the service, by which its limits are counted, too. @default the real time */
  readonly now?: () => Date;
  /**
   * The limits of each of the keys: those of a plan, or numbers of requests from 1 to 1,000,000,000. A test reaches
   * `{ perMinute: 1, perDay: 1 }` with its second request. @default limits that no test reaches
   */
  readonly plan?: 'free' | 'pro' | 'business' | { readonly perMinute: number; readonly perDay: number };
}

/** The service in the process of a test. */
export interface TestService {
  /** For the option `fetch` of a client: its requests go to this service, whatever its `baseUrl`. */
  readonly fetch: typeof fetch;
  /** An internal key: it may also place, ship and complete orders, and follow them. */
  readonly apiKey: string;
  /** An external read-only key. */
  readonly readOnlyKey: string;
  /** A key as external callers have it. */
  readonly externalKey: string;
  /** Ends what is still followed. */
  close(): Promise<void>;
}
