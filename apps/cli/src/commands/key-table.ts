import { type ApiKey, limitsOfPlan, planInForce, temporaryPlanAt } from '@petstore/domain';
import { renderTable } from '../output.ts';
import { describeTime } from '../relative-time.ts';

/** A name is shortened to this many characters at most. */
const NAME_MIN = 8;

/**
 * Keys for a person, in a table as wide as the terminal where that is possible: names are shortened for it. What is left
 * out, or rounded, is in the JSON.
 */
export function renderKeyTable(keys: readonly ApiKey[], now: Date, columns: number): string {
  const longest = Math.max(...keys.map(({ name }) => name.length), 'NAME'.length);
  const render = (nameWidth: number) => renderTable(keys.map((key) => rowOf(key, now, nameWidth)));
  const widest = Math.max(
    ...render(longest)
      .split('\n')
      .map((line) => line.length),
  );
  return widest <= columns ? render(longest) : render(Math.max(NAME_MIN, longest - (widest - columns)));
}

function rowOf(key: ApiKey, now: Date, nameWidth: number) {
  const { name: plan } = planInForce(key, now);
  const { perMinute, perDay } = limitsOfPlan(planInForce(key, now));
  return {
    ID: key.id,
    NAME: key.name.length <= nameWidth ? key.name || '-' : `${key.name.slice(0, nameWidth - 1)}…`,
    PLAN: [
      plan,
      ...(temporaryPlanAt(key, now) === undefined ? [] : ['for now']),
      ...(key.kind === 'internal' ? ['internal'] : []),
    ].join(', '),
    MINUTE: perMinute.toLocaleString('en').padStart('MINUTE'.length),
    DAY: perDay.toLocaleString('en').padStart('1,000,000'.length),
    STATUS: statusOf(key, now),
    'LAST USED': key.lastUsedAt === undefined ? 'never' : describeTime(key.lastUsedAt, now),
  };
}

function statusOf({ revokedAt, expiresAt }: ApiKey, now: Date): string {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt === undefined) return 'active';
  return expiresAt <= now ? 'expired' : `expires ${describeTime(expiresAt, now)}`;
}
