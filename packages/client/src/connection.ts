import { type CheckedOptions, checkOptions, type PetstoreClientOptions } from './options.ts';
import { type Clock, systemClock } from './transport/clock.ts';
import { createSend, type Send } from './transport/send.ts';

/** The sources of time and of random numbers. Tests pass in their own. */
export interface Dependencies {
  /** @default the real time */
  readonly clock: Clock;
  /** Returns numbers from 0 up to, but not including, 1. @default Math.random */
  readonly random: () => number;
}

/** The common base of the REST client and the tRPC client. */
export interface Connection extends Dependencies {
  readonly options: CheckedOptions;
  readonly send: Send;
}

/** @throws TypeError if an option is not valid */
export function createConnection(
  options: PetstoreClientOptions,
  { clock = systemClock, random = Math.random }: Partial<Dependencies> = {},
): Connection {
  const checked = checkOptions(options);
  return { options: checked, clock, random, send: createSend(checked, clock) };
}
