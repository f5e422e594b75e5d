import type { ApiKeyId } from './api-key.ts';
import type { Actor, OrderId } from './ids.ts';
import type { OrderEventType } from './order-event.ts';

/** The changes of API keys that are recorded. */
export const KEY_EVENT_ACTIONS = [
  'key.created',
  'key.rotated',
  'key.revoked',
  'key.plan_changed',
  'ban.set',
  'ban.lifted',
] as const;

export type KeyEventAction = (typeof KEY_EVENT_ACTIONS)[number];

/** Who changed what, and when. */
export interface AuditEntry {
  readonly at: Date;
  readonly action: OrderEventType | KeyEventAction;
  /** The order that was changed. */
  readonly orderId?: OrderId;
  /** The key that changed something, or that was changed itself. */
  readonly keyId?: ApiKeyId;
  readonly actor: Actor;
  /** Of a key that was created: whether it is read-only. */
  readonly readOnly?: boolean;
  readonly requestId?: string;
}

/** Selects entries: those that match every field given. */
export interface AuditFilter {
  readonly orderId?: OrderId | undefined;
  readonly keyId?: ApiKeyId | undefined;
  readonly since?: Date | undefined;
  /** The maximum number of entries; the newest are returned. */
  readonly limit: number;
}
