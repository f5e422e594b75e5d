import type { ApiKeyId, AuditEntry, OrderId } from '@petstore/domain';
import type { Command } from 'commander';
import { apiKeyIdParser, integerParser, type JsonFlag, parseOrderId, parsePastTime } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { renderTable } from '../table.ts';

interface AuditFlags extends JsonFlag {
  readonly order?: OrderId;
  readonly key?: ApiKeyId;
  readonly since?: string;
  readonly limit: number;
}

const LIMIT_MAX = 1_000_000;

/** `petstore audit`: who changed what. */
export function addAuditCommand(program: Command, context: CommandContext): void {
  program
    .command('audit')
    .description('Show who changed which order or key, newest first')
    .option('--order <id>', 'Only changes of this order', parseOrderId)
    .option('--key <id>', 'Only changes that this key made, and changes of it', apiKeyIdParser('--key'))
    .option('--since <when>', 'Only changes since: 24h ago (24h), or 2027-01-31T00:00:00Z')
    .option('--limit <n>', 'Number of changes at most', integerParser('--limit', 1, LIMIT_MAX), 100)
    .action((flags: AuditFlags) => showAudit(context, flags));
}

async function showAudit({ clock, withSession, output }: CommandContext, flags: AuditFlags) {
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
