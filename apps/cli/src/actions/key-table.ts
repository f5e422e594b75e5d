import { type ApiKey, describeLimits, limitsOfPlan } from '@petstore/domain';
import { describeMoment, describeTime } from '../relative-time.ts';
import { renderFields, renderTable } from '../table.ts';

/** Keys for a person, in a table that fits the terminal. What is left out, or rounded, is in the JSON. */
export const renderKeyTable = (keys: readonly ApiKey[], now: Date, columns: number): string =>
  renderTable(
    keys.map((key) => rowOf(key, now)),
    { columns, now, shorten: { name: 8 }, omit: ['day', 'minute'] },
  );

function rowOf(key: ApiKey, now: Date) {
  const { perMinute, perDay } = limitsOfPlan(key.plan);
  return {
    id: key.id,
    name: key.name || null,
    plan: key.kind === 'internal' ? `${key.plan.name}, internal` : key.plan.name,
    minute: perMinute,
    day: perDay,
    status: statusOf(key, now),
    lastUsed: key.lastUsedAt ?? null,
  };
}

function statusOf({ revokedAt, expiresAt }: ApiKey, now: Date): string {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt === undefined) return 'active';
  return expiresAt <= now ? 'expired' : `expires ${describeTime(expiresAt, now)}`;
}

/** One key for a person, a line for each of its facts. */
export function renderKey(key: ApiKey, now: Date): string {
  const moment = (time: Date | undefined) => (time === undefined ? null : describeMoment(time, now));
  return renderFields({
    ID: key.id,
    Name: key.name || null,
    Kind: key.kind,
    Plan: key.plan.name,
    Limits: describeLimits(limitsOfPlan(key.plan)),
    Status: statusOf(key, now),
    Created: moment(key.createdAt),
    Expires: moment(key.expiresAt),
    Revoked: moment(key.revokedAt),
    'Last used': moment(key.lastUsedAt),
  });
}
