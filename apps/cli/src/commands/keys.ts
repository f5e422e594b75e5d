import type { ApiKeyId } from '@petstore/domain';
import type { Command } from 'commander';
import type { CreateFlags, RevokeFlags, RotateFlags, SetPlanFlags } from '../actions/keys.ts';
import { actorOption, addPlanOptions, type JsonFlag, keyArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';

const actions = () => import('../actions/keys.ts');

/** `petstore keys`: who may call, and how much. */
export function addKeysCommands(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('Create, list, rotate and revoke API keys');
  addPlanOptions(keys.command('create').description('Create an API key'))
    .option('--name <name>', 'What the key is for')
    .option('--internal', 'Allow it to place, ship and complete orders over tRPC')
    .option('--expires <when>', 'When it expires, such as 90d or 2027-01-31T00:00:00Z (default: never)')
    .addOption(actorOption())
    .action(async (flags: CreateFlags) => (await actions()).createKey(context, flags));
  keys
    .command('list')
    .description('List API keys, newest first')
    .action(async (flags: JsonFlag) => (await actions()).listKeys(context, flags));
  keys
    .command('show')
    .description('Show an API key')
    .addArgument(keyArgument())
    .action(async (id: ApiKeyId, flags: JsonFlag) => (await actions()).showKey(context, id, flags));
  keys
    .command('rotate')
    .description('Issue a new secret; the old one keeps working for --overlap')
    .addArgument(keyArgument())
    .option('--overlap <duration>', 'How long the old secret keeps working, or until when', '24h')
    .addOption(actorOption())
    .action(async (id: ApiKeyId, flags: RotateFlags) => (await actions()).rotateKey(context, id, flags));
  keys
    .command('revoke')
    .description('Revoke a key permanently, on all servers')
    .addArgument(keyArgument())
    .addOption(actorOption())
    .action(async (id: ApiKeyId, flags: RevokeFlags) => (await actions()).revokeKey(context, id, flags));
  addPlanOptions(keys.command('set-plan').description('Change the plan of a key'))
    .addArgument(keyArgument())
    .addOption(actorOption())
    .action(async (id: ApiKeyId, flags: SetPlanFlags) => (await actions()).setPlan(context, id, flags));
}
