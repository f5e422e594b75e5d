import type { ApiKeyId, AuditEntry, OrderId } from '@petstore/domain';
import { type JsonFlag, parsePastTime } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { renderTable } from '../table.ts';

export interface AuditFlags extends JsonFlag {
  readonly order?: OrderId;
  readonly key?: ApiKeyId;
  readonly since?: string;
  readonly limit: number;
}

/** Prints who changed what. */
export async function showAudit({ clock, withSession, output }: CommandContext, flags: AuditFlags) {
  const { order: orderId, key: keyId, limit, json } = flags;
  const since = flags.since === undefined ? undefined : parsePastTime('--since', flags.since, clock());
  const entries = await withSession(({ persistence }) => persistence.audit.read({ orderId, keyId, since, limit }));
  if (json) await output.write(`[${entries.map(jsonOf).join(',')}]\n`);
  else if (entries.length === 0) output.message('No changes.');
  else {
    const fit = { columns: output.columns, now: clock(), shorten: { request: 8, actor: 12 }, omit: ['request'] };
    await output.write(renderTable(entries.map(rowOf), fit));
  }
}

const rowOf = ({ at, action, orderId, keyId, actor, requestId }: AuditEntry) => ({
  at,
  action,
  order: orderId ?? null,
  key: keyId ?? null,
  actor,
  request: requestId ?? null,
});

function jsonOf({ at, action, orderId, keyId, actor, requestId }: AuditEntry): string {
  const rest = JSON.stringify({ keyId: keyId ?? null, actor, requestId: requestId ?? null }).slice(1);
  // JSON.stringify has no bigint.
  return `{"at":"${at.toISOString()}","action":"${action}","orderId":${orderId ?? null},${rest}`;
}
