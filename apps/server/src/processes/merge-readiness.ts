import type { ReadinessReport } from '../operations/health.ts';

/** What is known of a process that says nothing. */
export const silent = (problem: string): ReadinessReport => ({
  status: 'not ready',
  problems: [problem],
  postgres: 'down',
  limits: 'unknown',
});

/** From the one that says most about what is wrong. */
const LIMITS = ['degraded', 'unknown', 'in-process', 'redis'] as const satisfies readonly ReadinessReport['limits'][];

/** Makes one report of those of all processes: it is as good as the worst, and names each problem once. */
export function mergeReadiness(reports: readonly ReadinessReport[]): ReadinessReport {
  return {
    status: reports.every(({ status }) => status === 'ready') ? 'ready' : 'not ready',
    problems: [...new Set(reports.flatMap(({ problems }) => problems))],
    postgres: reports.every(({ postgres }) => postgres === 'up') ? 'up' : 'down',
    limits: LIMITS.find((mode) => reports.some(({ limits }) => limits === mode)) ?? 'unknown',
  };
}
