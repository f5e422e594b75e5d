import type { Alert } from './alerts/alert.ts';
import { OF_BACKENDS } from './alerts/backends.ts';
import { OF_CALLERS } from './alerts/callers.ts';
import { OF_SERVERS } from './alerts/servers.ts';
import { FAILING_SLOWLY, PAGES } from './alerts/service.ts';

/** Causes come first: Prometheus evaluates them in this order, and an alert is held back by those before it. */
export const ALERTS: readonly Alert[] = [...PAGES, FAILING_SLOWLY, ...OF_SERVERS, ...OF_CALLERS, ...OF_BACKENDS];

/** The page of the runbook, from the root of the repository. */
export const runbookOf = ({ name }: Pick<Alert, 'name'>): string =>
  `docs/runbook/${name
    .replace('Petstore', '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
    .toLowerCase()}.md`;
