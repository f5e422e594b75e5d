/** How many times longer a busy machine may take. */
const BUSY_FACTOR = 2;

/** The time that a test allows, in milliseconds, for what callers and operators are promised within so many seconds. */
export const allowedMs = (promisedSeconds: number): number => promisedSeconds * 1_000 * BUSY_FACTOR;
