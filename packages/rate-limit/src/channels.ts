/** The channels of Redis on which processes notify each other. */
export interface Channels {
  /** Announces each change of a key, by its id. Every process then looks that key up again. */
  readonly apiKeyChanged: string;
  /** Announces new events. Every process then reads them. */
  readonly orderEvents: string;
}

/** @param keyPrefix that of the keys: two deployments on one Redis have channels of their own */
export const channelsOf = (keyPrefix: string): Channels => ({
  apiKeyChanged: `${keyPrefix}petstore:api-key-changed`,
  orderEvents: `${keyPrefix}petstore:order-events`,
});
