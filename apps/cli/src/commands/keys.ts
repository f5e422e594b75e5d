import {
  type ApiKey,
  type ApiKeyId,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  limitsOfPlan,
} from '@petstore/domain';
import { type Command, Option } from 'commander';
import {
  apiKeyIdOf,
  type JsonFlags,
  jsonOption,
  PLAN_CHOICES,
  type PlanOptions,
  planOf,
  timeOf,
} from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandFailure, UsageError } from '../failure.ts';
import { findKey, refuseKey } from '../find-key.ts';
import { announceKeyChange } from '../key-changes.ts';
import { renderTable } from '../render-table.ts';
import type { Session } from '../session.ts';

interface CreateFlags extends PlanOptions, JsonFlags {
  readonly name: string;
  readonly internal?: true;
  readonly expires?: string;
}

const NAME_LENGTH_MAX = 200;

const planOption = () =>
  new Option('--plan <plan>', 'what the key may ask for').choices(PLAN_CHOICES).makeOptionMandatory();
const perMinuteOption = () =>
  new Option('--per-minute <n>', 'requests in any minute (enterprise only, and required there)');
const perDayOption = () =>
  new Option('--per-day <n>', 'requests in any 24 hours (enterprise only, and required there)');

/** `petstore keys`: who may call, and how much. */
export function addKeysCommands(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('make, show, replace and revoke API keys');
  keys
    .command('create')
    .description('make a key; its text is shown only now')
    .addOption(planOption())
    .option('--name <name>', 'what the key is for', '')
    .option('--internal', 'let it place, ship and complete orders over tRPC')
    .option('--expires <when>', 'when it ends: 90d, or a date-time')
    .addOption(perMinuteOption())
    .addOption(perDayOption())
    .addOption(jsonOption())
    .action((flags: CreateFlags) => createKey(context, flags));
  keys
    .command('list')
    .description('show all keys, the newest first')
    .addOption(jsonOption())
    .action((flags: JsonFlags) => listKeys(context, flags));
  keys
    .command('show <ID>')
    .description('show a key')
    .addOption(jsonOption())
    .action((id: string, flags: JsonFlags) => showKey(context, apiKeyIdOf(id), flags));
  keys
    .command('rotate <ID>')
    .description('give a key another text; the old one stays valid for a while')
    .option('--overlap <duration>', 'how long the old text stays valid: 24h, or a date-time', '24h')
    .addOption(jsonOption())
    .action((id: string, flags: JsonFlags & { readonly overlap: string }) => rotateKey(context, apiKeyIdOf(id), flags));
  keys
    .command('revoke <ID>')
    .description('end a key for good, everywhere at once')
    .addOption(jsonOption())
    .action((id: string, flags: JsonFlags) => revokeKey(context, apiKeyIdOf(id), flags));
  keys
    .command('set-plan <ID>')
    .description('put a key on another plan')
    .addOption(planOption())
    .addOption(perMinuteOption())
    .addOption(perDayOption())
    .addOption(jsonOption())
    .action((id: string, flags: PlanOptions & JsonFlags) => setPlan(context, apiKeyIdOf(id), flags));
}

async function createKey({ clock, randomBytes, withSession, output }: CommandContext, flags: CreateFlags) {
  const plan = planOf(flags);
  if (flags.name.length > NAME_LENGTH_MAX) {
    throw new UsageError(`--name must have at most ${NAME_LENGTH_MAX} characters`);
  }
  const now = clock();
  const expiresAt = flags.expires === undefined ? undefined : timeOf('--expires', flags.expires, now);
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('live', id, randomBytes);
  const key = await withSession(({ persistence }) =>
    persistence.keyAdministration.createKey(
      {
        id,
        name: flags.name,
        kind: flags.internal === true ? 'internal' : 'external',
        plan,
        createdAt: now,
        ...(expiresAt && { expiresAt }),
      },
      hashApiKeyText(text),
    ),
  );
  await showNewText({ output }, key, text, flags);
}

async function rotateKey(context: CommandContext, id: ApiKeyId, flags: JsonFlags & { readonly overlap: string }) {
  const { clock, randomBytes, withSession, output } = context;
  const now = clock();
  const overlapEndsAt = timeOf('--overlap', flags.overlap, now, { orNow: true });
  const text = generateApiKeyText('live', id, randomBytes); // a label that is not stored, so none can be kept
  const key = await withSession(async (session) => {
    const rotation = { secretHash: hashApiKeyText(text), now, overlapEndsAt };
    const decision = await session.persistence.keyAdministration.rotateKey(id, rotation);
    if (!decision.ok) refuseKey(decision.reason, id);
    await announceKeyChange(session, id, output);
    return decision.value;
  });
  output.say(`The text from before is valid until ${overlapEndsAt.toISOString()}.`);
  await showNewText({ output }, key, text, flags);
}

async function listKeys({ withSession, output }: CommandContext, { json }: JsonFlags) {
  const keys = await withSession(({ persistence }) => persistence.keyAdministration.listKeys());
  if (json) await output.write(`${JSON.stringify(keys.map(keyRow))}\n`);
  else if (keys.length === 0) output.say('There are no keys. "keys create" makes one.');
  else await output.write(renderTable(keys.map(keyRow)));
}

const showKey = (context: CommandContext, id: ApiKeyId, flags: JsonFlags) =>
  printKey(context, id, flags, (session) => findKey(session, id));

const revokeKey = (context: CommandContext, id: ApiKeyId, flags: JsonFlags) =>
  printKey(context, id, flags, async (session) => {
    const key = await session.persistence.keyAdministration.revokeKey(id, context.clock());
    if (key !== undefined) await announceKeyChange(session, id, context.output);
    return key;
  });

function setPlan(context: CommandContext, id: ApiKeyId, flags: PlanOptions & JsonFlags) {
  const plan = planOf(flags);
  return printKey(context, id, flags, async (session) => {
    const key = await session.persistence.keyAdministration.setPlan(id, plan);
    if (key !== undefined) await announceKeyChange(session, id, context.output);
    return key;
  });
}

async function printKey(
  { withSession, output }: CommandContext,
  id: ApiKeyId,
  { json }: JsonFlags,
  get: (session: Session) => Promise<ApiKey | undefined>,
) {
  const key = await withSession(get);
  if (key === undefined) refuseKey('key_not_found', id);
  await output.write(json ? `${JSON.stringify(keyRow(key))}\n` : renderTable([keyRow(key)]));
}

async function showNewText(
  { output }: Pick<CommandContext, 'output'>,
  key: ApiKey,
  text: string,
  { json }: JsonFlags,
): Promise<void> {
  const { id, plan, perMinute, perDay, kind, name, expiresAt } = keyRow(key);
  if (!json) output.say('Keep this text: it is shown only now.');
  try {
    await output.write(
      json ? `${JSON.stringify({ id, key: text, plan, perMinute, perDay, kind, name, expiresAt })}\n` : `${text}\n`,
    );
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const message = `${error.message}. The text of the key ${id} is lost; "keys rotate ${id}" gives it another`;
    throw new CommandFailure(message, { cause: error });
  }
}

/** A key as it is shown, without any text of it. */
function keyRow({ id, plan, kind, name, createdAt, expiresAt, revokedAt, lastUsedAt }: ApiKey) {
  return {
    id,
    plan: plan.name,
    ...limitsOfPlan(plan),
    kind,
    name,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
