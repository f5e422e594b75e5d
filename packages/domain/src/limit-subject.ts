import type { ApiKeyId } from './api-key.ts';
import { limitsOfPlan, type Plan, type RequestLimits } from './plan.ts';

/** The subject under which requests with an API key are counted, however many secrets the key has. */
export interface ApiKeySubject extends RequestLimits {
  readonly name: string;
}

const PREFIX = 'key:';

/** The name under which the requests of a key are counted. */
export const subjectNameOf = (id: ApiKeyId): string => PREFIX + id;

/** The inverse of {@link subjectNameOf}. */
export const apiKeyIdOf = (subjectName: string): ApiKeyId => subjectName.slice(PREFIX.length) as ApiKeyId; // made of one

export const apiKeySubject = (id: ApiKeyId, plan: Plan): ApiKeySubject => ({
  name: subjectNameOf(id),
  ...limitsOfPlan(plan),
});
