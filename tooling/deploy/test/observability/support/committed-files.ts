import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@petstore/server/test-support/documentation';
import { parse } from 'yaml';

export const ALERT_RULES_FILE = join(ROOT, 'deploy/observability/petstore-alerts.yaml');
/** How the rules are tested, in the notation of promtool. */
export const ALERT_CASES_FILE = join(ROOT, 'deploy/observability/petstore-alerts.test.yaml');
const DASHBOARD_FILE = join(ROOT, 'deploy/observability/grafana-dashboard.json');

/** `page`: callers notice, so an operator has to act now. `ticket`: an operator has to act within a day or two. */
type Severity = 'page' | 'ticket';

/** A rule of {@link ALERT_RULES_FILE}, as Prometheus reads it. */
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: Severity };
  /** `runbook_url` is the path of the section from the root of the repository. */
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

/** A query, and the text beside it, which names labels of its result: `{{operation}}`, or `{{ $labels.operation }}`. */
export interface Query {
  readonly title: string;
  readonly expr: string;
  readonly text: string;
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { name: string; expr: string; titleFormat: string }[] };
  readonly templating: { readonly list: readonly { name: string; definition?: string }[] };
}
interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly Target[];
}
interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

const rules: { readonly groups: readonly { readonly rules: readonly Alert[] }[] } = parse(
  readFileSync(ALERT_RULES_FILE, 'utf8'),
);
const dashboard: Dashboard = JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8'));

/** All alerts, in the order in which Prometheus evaluates them. */
export const ALERTS: readonly Alert[] = rules.groups.flatMap((group) => group.rules);

/** What the panels of the dashboard show. */
export const PANEL_QUERIES = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }): Query => ({ title, expr, text: legendFormat })),
);

/** What the dashboard says of each panel, by its title. */
export const PANEL_DESCRIPTIONS: ReadonlyMap<string, string> = new Map(
  dashboard.panels.map(({ title, description = '' }): [string, string] => [title, description]),
);

/** How the dashboard finds the servers that can be chosen, and what it marks in its panels. */
export const OTHER_DASHBOARD_QUERIES: readonly Query[] = [
  ...dashboard.annotations.list.map(({ name, expr, titleFormat }) => ({ title: name, expr, text: titleFormat })),
  ...dashboard.templating.list.flatMap(({ name, definition }) =>
    definition === undefined ? [] : [{ title: name, expr: definition, text: '' }],
  ),
];

/** The path below the root. */
export const RUNBOOK_FILE = 'docs/runbook.md';

export const RUNBOOK = readFileSync(join(ROOT, RUNBOOK_FILE), 'utf8');

const [, ...sections] = RUNBOOK.split(/^## /m);

/** What the runbook says of each alert, by its heading. */
export const SECTIONS: ReadonlyMap<string, string> = new Map(
  sections.map((section): [string, string] => [section.slice(0, section.indexOf('\n')), section]),
);

/** @throws Error if the runbook has no section for the alert */
export function sectionOf(alert: string): string {
  const section = SECTIONS.get(alert);
  if (section === undefined) throw new Error(`${RUNBOOK_FILE} has no section "${alert}"`);
  return section;
}
