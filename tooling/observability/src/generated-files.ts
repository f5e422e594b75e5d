import { join } from 'node:path';
import { renderAlertRules } from './alert-rules.ts';
import { renderDashboard } from './dashboard.ts';
import { renderRunbookIndex } from './runbook-index.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'deploy/observability');

export const ALERT_RULES_FILE = join(FOLDER, 'petstore-alerts.yaml');
export const DASHBOARD_FILE = join(FOLDER, 'grafana-dashboard.json');

/** The files that are generated, and what is to be in each. */
export const GENERATED: readonly { readonly file: string; readonly render: () => string }[] = [
  { file: ALERT_RULES_FILE, render: renderAlertRules },
  { file: DASHBOARD_FILE, render: renderDashboard },
  { file: join(ROOT, 'docs/runbook/README.md'), render: renderRunbookIndex },
];
