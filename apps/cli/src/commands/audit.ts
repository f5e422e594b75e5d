import type { ApiKeyId, AuditEntry, OrderId } from '@petstore/domain';
import type { Command } from 'commander';
import { apiKeyIdParser, integerParser, type JsonFlag, parseOrderId, pastParser } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { writeTable } from '../table.ts';

interface AuditFlags extends JsonFlag {
  readonly order?: OrderId;
  readonly key?: ApiKeyId;
  readonly since?: Date;
  readonly limit: number;
}

const LIMIT_MAX = 1_000_000;

/** `petstore audit`: who changed what. */
export const addAuditCommand = (program: Command, { withSession, output }: CommandContext): Command =>
  program
    .command('audit')
    .description('Show who changed which order or key, newest first')
    .option('--order <id>', 'Only changes to this order', parseOrderId)
    .option('--key <id>', 'Only changes made by this key, and changes to it', apiKeyIdParser('--key'))
    .option(
      '--since <when>',
      'Only changes since a time, such as 2027-01-31T00:00:00Z, or for a duration, such as 24h',
      pastParser('--since'),
    )
    .option('--limit <n>', 'Maximum number of changes', integerParser('--limit', 1, LIMIT_MAX), 100)
    .action(async ({ order: orderId, key: keyId, since, limit, json }: AuditFlags) => {
      const entries = await withSession(({ persistence }) => persistence.audit.read({ orderId, keyId, since, limit }));
      if (json) return output.write(`[${entries.map(jsonOf).join(',')}]\n`);
      if (entries.length === 0) return output.message('No changes.');
      await writeTable(
        output,
        entries.map((entry) => rowOf(entry, output.columns === undefined)),
        { flexible: ['actor'] },
      );
    });

const rowOf = ({ at, action, orderId, keyId, actor, requestId, readOnly }: AuditEntry, isWhole: boolean) => ({
  at,
  action: readOnly && !isWhole ? `${action}, read-only` : action,
  order: orderId ?? null,
  key: keyId ?? null,
  actor,
  ...(isWhole && { request: requestId ?? null, readOnly: readOnly ?? null }),
});

/** Only `key.created` has `readOnly`. */
function jsonOf({ at, action, orderId, keyId, actor, requestId, readOnly }: AuditEntry): string {
  const rest = JSON.stringify({ keyId: keyId ?? null, actor, requestId: requestId ?? null, readOnly }).slice(1);
  // JSON.stringify has no bigint.
  return `{"at":"${at.toISOString()}","action":"${action}","orderId":${orderId ?? null},${rest}`;
}
