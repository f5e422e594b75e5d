import { randomBytes } from 'node:crypto';
import {
  type ApiKey,
  type ApiKeyId,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  isKnownPlan,
  limitsOfPlan,
} from '@petstore/domain';
import type { ApiKeyReason } from '@petstore/persistence';
import type { Command } from 'commander';
import {
  type ActorFlag,
  actorOption,
  addPlanOptions,
  futureParser,
  type JsonFlag,
  keyArgument,
  type PlanFlags,
  parsePlan,
} from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';
import { type Output, ReaderGoneError } from '../output.ts';
import { describeMoment, describeTime } from '../relative-time.ts';
import type { Session } from '../session.ts';
import { writeFields, writeTable } from '../table.ts';

interface CreateFlags extends PlanFlags, ActorFlag {
  readonly name?: string;
  readonly internal?: true;
  readonly readOnly?: true;
  readonly expires?: Date;
}

interface ListFlags extends JsonFlag {
  /** Lists only the valid keys that expire by then. */
  readonly expiring?: Date;
}

interface RotateFlags extends ActorFlag {
  /** @default 24 hours from now */
  readonly overlap?: Date;
}

const NAME_LENGTH_MAX = 200;

const parseOverlap = futureParser('--overlap', { now: true });

/** `petstore keys`: who may call the service, and how often. */
export function addKeysCommands(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('Create, list, rotate and revoke API keys');
  addPlanOptions(keys.command('create').description('Create an API key'))
    .option('--name <name>', 'What the key is for', parseName)
    .option('--internal', 'Allow it to place, ship and complete orders over tRPC')
    .option('--read-only', 'Read-only: it cannot cancel or change orders')
    .option(
      '--expires <when>',
      'When it expires, such as 90d or 2027-01-31T00:00:00Z (default: never)',
      futureParser('--expires'),
    )
    .addOption(actorOption())
    .action((flags: CreateFlags) => createKey(context, flags));
  keys
    .command('list')
    .description('List API keys, newest first')
    .option('--expiring <when>', 'Keys (not old secrets) that expire within, say, 30d', futureParser('--expiring'))
    .action((flags: ListFlags) => listKeys(context, flags));
  keys
    .command('show')
    .description('Show an API key')
    .addArgument(keyArgument())
    .action((id: ApiKeyId, flags: JsonFlag) => printKey(context, flags, (session) => findKey(session, id)));
  keys
    .command('rotate')
    .description('Issue a new secret; the old one keeps working for --overlap')
    .addArgument(keyArgument())
    .option('--overlap <duration>', 'How long the old secret keeps working, or until when (default: 24h)', parseOverlap)
    .addOption(actorOption())
    .action((id: ApiKeyId, flags: RotateFlags) => rotateKey(context, id, flags));
  keys
    .command('revoke')
    .description('Revoke a key permanently, on all servers')
    .addArgument(keyArgument())
    .addOption(actorOption())
    .action((id: ApiKeyId, flags: ActorFlag) =>
      changeKey(context, id, flags, ({ persistence }) =>
        persistence.keyAdministration.revokeKey(id, new Date(), flags.as),
      ),
    );
  addPlanOptions(keys.command('set-plan').description('Change the plan of a key'))
    .addArgument(keyArgument())
    .addOption(actorOption())
    .action((id: ApiKeyId, flags: PlanFlags & ActorFlag) => {
      const plan = parsePlan(flags);
      return changeKey(context, id, flags, ({ persistence }) =>
        persistence.keyAdministration.setPlan(id, plan, new Date(), flags.as),
      );
    });
}

function parseName(text: string): string {
  if (text.length <= NAME_LENGTH_MAX) return text;
  throw new UsageError(`--name must have at most ${NAME_LENGTH_MAX} characters`);
}

/** Makes a key, and prints its text. */
async function createKey({ withSession, output }: CommandContext, flags: CreateFlags): Promise<void> {
  const { name = '', readOnly = false, expires: expiresAt } = flags;
  const plan = parsePlan(flags);
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('live', id, randomBytes);
  const kind = flags.internal ? 'internal' : 'external';
  const newKey = { id, name, kind, readOnly, plan, createdAt: new Date(), ...(expiresAt && { expiresAt }) } as const;
  const key = await withSession(({ persistence }) =>
    persistence.keyAdministration.createKey(newKey, hashApiKeyText(text), flags.as),
  );
  await printKeyText(output, key, text, flags);
}

/** Gives a key a new text, and prints it. */
async function rotateKey({ withSession, output }: CommandContext, id: ApiKeyId, flags: RotateFlags): Promise<void> {
  const { overlap: overlapEndsAt = parseOverlap('24h') } = flags;
  const text = generateApiKeyText('live', id, randomBytes); // `live` or `demo` is not stored: a demo key becomes a live one
  const now = new Date();
  const key = await withSession(async (session) => {
    const rotation = { secretHash: hashApiKeyText(text), now, overlapEndsAt };
    const decision = await session.persistence.keyAdministration.rotateKey(id, rotation, flags.as);
    if (!decision.ok) return rejectKey(decision.reason, id);
    await announceKeyChange(session, id, output);
    return decision.value;
  });
  output.message(`The old secret keeps working until ${describeMoment(overlapEndsAt, now)}.`);
  await printKeyText(output, key, text, flags);
}

/** Prints all keys, or those that expire soon. */
async function listKeys({ withSession, output }: CommandContext, { json, expiring }: ListFlags): Promise<void> {
  const all = await withSession(({ persistence }) => persistence.keyAdministration.listKeys());
  const keys = expiring === undefined ? all : all.filter((key) => expiresBy(key, expiring));
  if (json) return output.writeJson(keys.map(keyRow));
  if (keys.length === 0) {
    const isEmpty = all.length === 0;
    return output.message(isEmpty ? 'No keys. Create one with "petstore keys create".' : 'No key expires by then.');
  }
  await writeTable(output, output.columns === undefined ? keys.map(keyRow) : keys.map(shortRow), {
    flexible: ['name'],
  });
}

const changeKey = (
  context: CommandContext,
  id: ApiKeyId,
  flags: JsonFlag,
  change: (session: Session) => Promise<ApiKey | undefined>,
): Promise<void> =>
  printKey(context, flags, async (session) => {
    const key = (await change(session)) ?? rejectKey('key_not_found', id);
    await announceKeyChange(session, id, context.output);
    return key;
  });

async function printKey(
  { withSession, output }: CommandContext,
  { json }: JsonFlag,
  get: (session: Session) => Promise<ApiKey>,
): Promise<void> {
  const key = await withSession(get);
  if (json) return output.writeJson(keyRow(key));
  await (output.columns === undefined ? writeTable(output, [keyRow(key)]) : writeFields(output, keyRow(key)));
}

async function printKeyText(output: Output, apiKey: ApiKey, text: string, { json }: JsonFlag): Promise<void> {
  const { id, plan, perMinute, perDay, kind, readOnly, name, expiresAt } = keyRow(apiKey);
  try {
    if (json)
      return await output.writeJson({ id, key: text, plan, perMinute, perDay, kind, readOnly, name, expiresAt });
    output.message('Store this key now. It will not be shown again.');
    await output.write(`${text}\n`);
  } catch (error) {
    const isLost = error instanceof CommandError || error instanceof ReaderGoneError;
    if (!isLost) throw error;
    const message = `${error.message}. The secret of key ${id} is lost; "petstore keys rotate ${id}" issues another`;
    throw new CommandError(message, { cause: error });
  }
}

/** A key as it is shown, without its text. */
const keyRow = ({ id, plan, kind, readOnly, name, createdAt, expiresAt, revokedAt, lastUsedAt }: ApiKey) => ({
  id,
  plan: plan.name,
  ...(isKnownPlan(plan) ? limitsOfPlan(plan) : { perMinute: null, perDay: null }), // a newer release's plan
  kind,
  readOnly,
  name,
  createdAt,
  expiresAt: expiresAt ?? null,
  revokedAt: revokedAt ?? null,
  lastUsedAt: lastUsedAt ?? null,
});

/** The columns of a key that fit a line of a terminal. */
const shortRow = ({ id, name, plan, kind, readOnly, lastUsedAt, ...times }: ApiKey) => ({
  id,
  name,
  plan: [plan.name, kind === 'internal' && 'internal', readOnly && 'read-only'].filter(Boolean).join(', '),
  status: statusOf(times),
  lastUsed: lastUsedAt ?? null,
});

function statusOf({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now = new Date()): string {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt === undefined) return 'active';
  return expiresAt <= now ? 'expired' : `expires ${describeTime(expiresAt, now)}`;
}

/** Whether a key is valid now, and will have expired at a later time. */
const expiresBy = ({ revokedAt, expiresAt }: ApiKey, time: Date, now = new Date()): boolean =>
  revokedAt === undefined && expiresAt !== undefined && expiresAt > now && expiresAt <= time;

/** @throws CommandError if there is no such key */
export async function findKey({ persistence }: Session, id: ApiKeyId): Promise<ApiKey> {
  return (await persistence.keyAdministration.findKey(id)) ?? rejectKey('key_not_found', id);
}

const REFUSALS: Readonly<Record<ApiKeyReason, string>> = {
  key_not_found: 'not found',
  key_revoked: 'is revoked; create another with "petstore keys create"',
  key_expired: 'has expired; create another with "petstore keys create"',
};

/** Always throws. @throws CommandError */
function rejectKey(reason: ApiKeyReason, id: ApiKeyId): never {
  throw new CommandError(`key ${id} ${REFUSALS[reason]}`);
}

/** Makes all servers drop the key from their caches. Without Redis, they notice the change within 5 s. */
async function announceKeyChange({ settings }: Session, id: ApiKeyId, output: Output): Promise<void> {
  if (settings.redis === undefined) return;
  const { channelsOf, connectForOperator } = await import('@petstore/rate-limit');
  try {
    const redis = await connectForOperator(settings.redis);
    await redis.publish(channelsOf(settings.redisPrefix).apiKeyChanged, id).finally(() => redis.disconnect());
  } catch {
    output.message('The running servers could not be notified over Redis; they will see the change within 5 s.');
  }
}
