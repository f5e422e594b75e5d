import {
  type ApiKey,
  type ApiKeyId,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  limitsOfPlan,
} from '@petstore/domain';
import { type ActorFlag, type JsonFlag, type PlanFlags, parsePlan, parseTime } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';
import { type Output, ReaderGoneError } from '../output.ts';
import { describeMoment } from '../relative-time.ts';
import { MAY_MAKE_DATABASE, type Session } from '../session.ts';
import { renderTable } from '../table.ts';
import { renderKey, renderKeyTable } from './key-table.ts';
import { announceKeyChange, findKey, rejectKey } from './stored-key.ts';

export interface CreateFlags extends PlanFlags, ActorFlag, JsonFlag {
  readonly name?: string;
  readonly internal?: true;
  readonly expires?: string;
}

export interface RotateFlags extends ActorFlag, JsonFlag {
  readonly overlap: string;
}

export interface RevokeFlags extends ActorFlag, JsonFlag {}

export interface SetPlanFlags extends PlanFlags, ActorFlag, JsonFlag {}

const NAME_LENGTH_MAX = 200;

/** Makes a key, and prints its text. */
export async function createKey(context: CommandContext, flags: CreateFlags) {
  const { clock, randomBytes, operator, withSession, output } = context;
  const plan = parsePlan(flags);
  const { name = '' } = flags;
  if (name.length > NAME_LENGTH_MAX) {
    throw new UsageError(`--name must have at most ${NAME_LENGTH_MAX} characters`);
  }
  const createdAt = clock();
  const expiresAt = flags.expires === undefined ? undefined : parseTime('--expires', flags.expires, createdAt);
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('live', id, randomBytes);
  const kind = flags.internal === true ? 'internal' : 'external';
  const newKey = { id, name, kind, plan, createdAt, ...(expiresAt && { expiresAt }) } as const;
  const key = await withSession(
    ({ persistence }) => persistence.keyAdministration.createKey(newKey, hashApiKeyText(text), flags.as ?? operator()),
    MAY_MAKE_DATABASE,
  );
  await printKeyText(output, keyRow(key), text, flags);
}

/** Gives a key another text, and prints it. */
export async function rotateKey(context: CommandContext, id: ApiKeyId, flags: RotateFlags) {
  const { clock, randomBytes, operator, withSession, output } = context;
  const now = clock();
  const overlapEndsAt = parseTime('--overlap', flags.overlap, now, { allowNow: true });
  const text = generateApiKeyText('live', id, randomBytes); // whether it was live or test is not stored
  const key = await withSession(async (session) => {
    const rotation = { secretHash: hashApiKeyText(text), now, overlapEndsAt };
    const decision = await session.persistence.keyAdministration.rotateKey(id, rotation, flags.as ?? operator());
    if (!decision.ok) rejectKey(decision.reason, id);
    await announceKeyChange(session, id, output);
    return decision.value;
  });
  output.message(`The old secret keeps working until ${describeMoment(overlapEndsAt, now)}.`);
  await printKeyText(output, keyRow(key), text, flags);
}

/** Prints all keys. */
export async function listKeys({ clock, withSession, output }: CommandContext, { json }: JsonFlag) {
  const keys = await withSession(({ persistence }) => persistence.keyAdministration.listKeys());
  const now = clock();
  const rows = keys.map(keyRow);
  if (json) await output.writeJson(rows);
  else if (rows.length === 0) output.message('No keys. Create one with "petstore keys create".');
  else if (output.columns === undefined) await output.write(renderTable(rows, { columns: undefined, now }));
  else await output.write(renderKeyTable(keys, now, output.columns));
}

/** Prints a key. */
export const showKey = (context: CommandContext, id: ApiKeyId, flags: JsonFlag) =>
  printKey(context, flags, (session) => findKey(session, id));

/** Ends a key for good. */
export const revokeKey = (context: CommandContext, id: ApiKeyId, flags: RevokeFlags) =>
  changeKey(context, id, flags, ({ persistence }) =>
    persistence.keyAdministration.revokeKey(id, context.clock(), flags.as ?? context.operator()),
  );

/** Changes the plan of a key. */
export function setPlan(context: CommandContext, id: ApiKeyId, flags: SetPlanFlags) {
  const plan = parsePlan(flags);
  return changeKey(context, id, flags, ({ persistence }) =>
    persistence.keyAdministration.setPlan(id, plan, context.clock(), flags.as ?? context.operator()),
  );
}

const changeKey = (
  context: CommandContext,
  id: ApiKeyId,
  flags: JsonFlag,
  change: (session: Session) => Promise<ApiKey | undefined>,
) =>
  printKey(context, flags, async (session) => {
    const key = (await change(session)) ?? rejectKey('key_not_found', id);
    await announceKeyChange(session, id, context.output);
    return key;
  });

async function printKey(
  { clock, withSession, output }: CommandContext,
  { json }: JsonFlag,
  get: (session: Session) => Promise<ApiKey>,
) {
  const key = await withSession(get);
  const now = clock();
  if (json) await output.writeJson(keyRow(key));
  else
    await output.write(
      output.columns === undefined ? renderTable([keyRow(key)], { columns: undefined, now }) : renderKey(key, now),
    );
}

async function printKeyText(output: Output, row: KeyRow, text: string, { json }: JsonFlag): Promise<void> {
  const { id, plan, perMinute, perDay, kind, name, expiresAt } = row;
  try {
    if (json) return await output.writeJson({ id, key: text, plan, perMinute, perDay, kind, name, expiresAt });
    output.message('Store this key now. It will not be shown again.');
    await output.write(`${text}\n`);
  } catch (error) {
    const isLost = error instanceof CommandError || error instanceof ReaderGoneError;
    if (!isLost) throw error;
    const message = `${error.message}. The secret of key ${id} is lost; "petstore keys rotate ${id}" issues another`;
    throw new CommandError(message, { cause: error });
  }
}

type KeyRow = ReturnType<typeof keyRow>;

/** A key as it is shown, without its text. */
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
