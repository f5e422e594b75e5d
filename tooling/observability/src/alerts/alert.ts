import { increase, slowerShare, type Window } from '../queries.ts';

export interface Alert {
  readonly name: `Petstore${string}`;
  /** `page`: callers notice, an operator has to act now. `ticket`: an operator has to act within a day or two. */
  readonly severity: 'page' | 'ticket';
  /** How long the expression has to hold. */
  readonly for: `${number}m`;
  readonly expression: string;
  /** One line; what it means is on its page of the runbook. */
  readonly summary: string;
  /** With the value. */
  readonly description: string;
}

export const over = (window: Window, ...by: readonly string[]) => ({ scope: 'all', window, by }) as const;

/**
 * Holds back what follows from an alert that is raised or was a moment ago. In the rule itself, because that holds
 * whatever the Alertmanager is configured to inhibit, and can be tested with the rule. Names alerts that are at least as severe.
 */
export const unless = (...causes: readonly Alert['name'][]): string =>
  `unless on (job) count_over_time(ALERTS{alertname=~"${causes.join('|')}",alertstate="firing"}[15m])`;

interface Slow {
  readonly metric: string;
  readonly labels?: string;
  readonly by?: readonly string[];
  readonly seconds: number;
  readonly share: number;
}

/** That more than a share takes longer than a bound. A few are no measure. */
export const areSlow = ({ metric, labels = '', by = [], seconds, share }: Slow): string =>
  [
    `(\n  ${slowerShare(seconds, metric, labels, over('5m', ...by))} > ${share}`,
    `and\n  ${increase(`${metric}_count`, labels, over('5m', ...by))} > 20\n)`,
  ].join('\n');
