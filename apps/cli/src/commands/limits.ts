import type { ApiKeyId } from '@petstore/domain';
import type { Command } from 'commander';
import type { LiftFlags } from '../actions/limits.ts';
import { actorOption, type JsonFlag, keyArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';

const actions = () => import('../actions/limits.ts');

/** `petstore limits` and `petstore bans`: what keys have used, and which are banned. */
export function addLimitsCommands(program: Command, context: CommandContext): void {
  const limits = program.command('limits').description('Show what a key has used of its rate limits');
  limits
    .command('show')
    .description('Show the usage of both windows; does not count as a request')
    .addArgument(keyArgument())
    .action(async (id: ApiKeyId, flags: JsonFlag) => (await actions()).showLimits(context, id, flags));
  const bans = program.command('bans').description('List and lift bans');
  bans
    .command('list')
    .description('List banned keys, longest remaining first')
    .action(async (flags: JsonFlag) => (await actions()).listBans(context, flags));
  bans
    .command('lift')
    .description('Lift the ban of a key, and reset its refusals')
    .addArgument(keyArgument())
    .addOption(actorOption())
    .action(async (id: ApiKeyId, flags: LiftFlags) => (await actions()).liftBan(context, id, flags));
}
