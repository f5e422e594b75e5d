import type { Command } from 'commander';
import type { AuditFlags } from '../actions/audit.ts';
import { apiKeyIdParser, integerParser, parseOrderId } from '../arguments.ts';
import type { CommandContext } from '../context.ts';

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
    .action(async (flags: AuditFlags) => {
      const { showAudit } = await import('../actions/audit.ts');
      await showAudit(context, flags);
    });
}
