import type { CommandReason } from './decide-order.ts';

/** Why a call is refused that could be understood. */
export type DomainReason =
  | CommandReason
  /** The actor has already used the idempotency key to place a different order. */
  | 'idempotency_key_reused'
  /** Events that the reader has not yet seen have been deleted. */
  | 'events_expired'
  /** The position is beyond the latest event. */
  | 'unknown_position';

/** Thrown by a port for a call that is refused. The caller gets the error that the service has for the reason. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly reason: DomainReason;

  constructor(reason: DomainReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
